"""An optimizer's step raises, and gradients are recorded afterwards as before."""

import torch

GRAPHS = 4
REFERENCE_GRAPHS = 1

net = torch.nn.Linear(3, 2)
for parameter in net.parameters():
    parameter.grad = torch.ones_like(parameter)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def closure():
    raise ValueError("no loss")


def fn(x, raises):
    scaled = x * 2
    try:
        optimizer.step(closure if raises else None)
    except ValueError as e:
        return net(scaled), str(e), torch.is_grad_enabled()
    try:
        raise KeyError
    except KeyError:
        optimizer.step()
    return net(scaled), torch.is_grad_enabled()


def calls():
    return [(torch.randn(2, 3), raises) for raises in (True, False, True)]
