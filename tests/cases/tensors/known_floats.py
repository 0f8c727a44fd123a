"""A number that a tensor rounds to its dtype is known without running it."""

import torch

GRAPHS = 1


def fn(x, y):
    low = x.new_tensor(0.1, device="cpu").item()
    high = y.new_tensor(0.1).item()
    whole = x.new_tensor(-3)
    few = [float(torch.tensor(1 / 3)), torch.as_tensor(2.5, dtype=torch.float64).tolist()]
    far = [x.new_tensor(1e300).item(), x.new_tensor(float("nan")).item()]
    least = x.new_tensor(-0.0).item()
    y = y.clamp(min=low, max=whole.item() + 10)
    return x + high, y, whole, low, high, few, far, least, type(whole.item())


def inputs():
    return torch.ones(3), torch.linspace(0, 1, 4, dtype=torch.float64)


BACKWARD = False
