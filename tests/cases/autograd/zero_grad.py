"""Optimizer.zero_grad in the compiled function, in both ways, and gradients set by hand."""

import torch

GRAPHS = 3
REFERENCE_GRAPHS = None
model = torch.nn.Linear(3, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
other = torch.optim.Adam(model.parameters(), foreach=True)


def before(i):
    if i:
        model(torch.ones(1, 3)).sum().backward()


def fn(x):
    if x.shape[0] > 1:
        had = model.weight.grad is not None
        optimizer.zero_grad()
        return model(x).sum(), had, model.weight.grad
    other.zero_grad(set_to_none=False)
    return model(x).sum(), model.bias.grad.sum()


def calls():
    return [
        (torch.randn(2, 3),),
        (torch.randn(2, 3),),
        (torch.randn(2, 3),),
        (torch.randn(1, 3),),
        (torch.randn(1, 3),),
    ]
