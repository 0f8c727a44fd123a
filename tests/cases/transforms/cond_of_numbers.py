"""A number that the graph reads, and a size that it finds, decide in `torch.cond`."""

import torch

OPTIONS = {"capture_scalar_outputs": True, "capture_dynamic_output_shape_ops": True}
GRAPHS = 1
SNAPSHOT = False
ALONE = True


def fn(x, t):
    n = t.item()
    read = torch.cond(n > 3, lambda a: a + 1, lambda a: a * 5, (x,))
    found = torch.cond(x.nonzero().shape[0] > 2, torch.sin, torch.cos, (x,))
    both = torch.cond((n > 1) & (n < 9), lambda a: a * n, lambda a: a - n, (read,))
    return read, found, both


def calls():
    x = torch.tensor([0.0, 1, 2, 0])
    return [(x, torch.tensor(2)), (x + 1, torch.tensor(7)), (x, torch.tensor(12))]
