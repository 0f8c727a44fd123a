"""Rates and other factors that are tensors, which eager reads as numbers: the graph reads them."""

import torch

GRAPHS = 1
SNAPSHOT = False

net = torch.nn.Linear(3, 2)
for parameter in net.parameters():
    parameter.grad = torch.ones_like(parameter)
optimizer = torch.optim.SGD(net.parameters(), lr=torch.tensor(0.1))
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
    return [(torch.randn(2, 3),) for _ in range(4)]
