"""Gradients go through nested tensors to what they are multiplied with."""

import torch

GRAPHS = 1
SNAPSHOT = False

linear = torch.nn.Linear(4, 2)
with torch.no_grad():
    linear.weight.fill_(0.5)
    linear.bias.fill_(0.25)


def fn(x):
    loss = torch.relu(linear(x)).values().square().sum()
    return loss.detach(), torch.autograd.grad(loss, (linear.weight, linear.bias))


def jagged(*lengths):
    values = torch.arange(sum(lengths) * 4.0).view(-1, 4)
    offsets = torch.tensor([0, *lengths]).cumsum(0)
    return torch.nested.nested_tensor_from_jagged(values, offsets)


def calls():
    return [(jagged(2, 3),), (jagged(4, 3),)]
