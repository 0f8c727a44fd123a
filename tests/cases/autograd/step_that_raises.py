"""An optimizer's step raises, and gradients are recorded afterwards as before."""

import torch

net = torch.nn.Linear(3, 2)
for parameter in net.parameters():
    parameter.grad = torch.ones_like(parameter)
optimizer = torch.optim.SparseAdam(net.parameters())


def fn(x):
    scaled = x * 2
    try:
        optimizer.step()
    except RuntimeError as e:
        return net(scaled), str(e), torch.is_grad_enabled()
    return None


def calls():
    return [(torch.randn(2, 3),) for _ in range(2)]
