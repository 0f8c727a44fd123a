"""Rates and other factors that are tensors, which eager reads as numbers: the graph reads them.

A compiler's graph multiplies by the tensor, which rounds once more: all numbers here are exact.
"""

import torch

GRAPHS = 1
SNAPSHOT = False

net = torch.nn.Linear(3, 2)
for parameter in net.parameters():
    parameter.data.mul_(8).round_().div_(8)
    parameter.grad = torch.ones_like(parameter)
optimizer = torch.optim.SGD(net.parameters(), lr=torch.tensor(0.25))
schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)


def before(index):
    if index:
        schedule.step()


def fn(x):
    optimizer.step()
    rate = optimizer.param_groups[0]["lr"]
    scaled = x.add(x, alpha=-rate), x.addcmul(x, x, value=rate)
    return net(x), scaled, list(net.parameters())


def calls():
    return [(torch.arange(6.0).view(2, 3) + i,) for i in range(4)]
