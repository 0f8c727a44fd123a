"""An optimizer's step is part of the graph, its state changes as eager's."""

import torch

GRAPHS = 3  # the first step makes the state; the rate is an input once it changes
net = torch.nn.Linear(3, 2)
for parameter in net.parameters():
    parameter.grad = torch.ones_like(parameter)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True)


def before(index):
    if index == 3:
        optimizer.param_groups[0]["lr"] = 0.05
    if index == 4:
        net.weight.grad = net.weight.grad * 2


def fn(x):
    scaled = x * 2
    optimizer.step()
    momentum = [optimizer.state[p]["momentum_buffer"] for p in net.parameters()]
    return net(scaled), momentum, torch.is_grad_enabled()


def calls():
    return [(torch.randn(2, 3),) for _ in range(5)]
