"""`Variable(t)` is `t` without its history; one that is to require gradients breaks the graph."""

import torch
from torch.autograd import Variable

GRAPHS = 1
REFERENCE_GRAPHS = 3


def fn(x):
    weight = Variable(x.exp())
    y = x * weight + Variable(x, requires_grad=False)
    leaf = Variable(torch.ones(2), requires_grad=True)
    return y, weight, weight.requires_grad, isinstance(y, Variable), leaf


def inputs():
    return (torch.ones(2, requires_grad=True),)
