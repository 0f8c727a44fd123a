"""An optimizer's step between calls changes parameters: no new compilation."""

import torch

GRAPHS = 1
net = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def before(index):
    if index:
        optimizer.step()
        optimizer.zero_grad()


def fn(x):
    return net(x).sum()


def calls():
    return [(torch.ones(3, 2),) for _ in range(3)]
