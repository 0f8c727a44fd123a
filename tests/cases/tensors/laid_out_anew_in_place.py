"""A tensor from outside gets other strides and values in place: it has both behind the call.

A no-op backend gets all of it. A compiler would put the values back in a layout of its own: there
the graph breaks.
"""

import torch

SNAPSHOT = False


def turned(x):
    x.t_()
    x.masked_fill_(x < 2, 7.0)
    return x.sum()


def widened(x):
    y = x * 2
    x.unsqueeze_(0)
    x.scatter_(1, torch.zeros(1, 1, 4, dtype=torch.long), 8.0)
    return y + x


def own_turned(x):
    y = x + 1
    y.t_()
    return y.mul_(2)


def fn(x, which):
    return (turned, widened, own_turned)[which](x)


def calls():
    return [(torch.arange(12.0).reshape(3, 4), which) for which in range(3)]


GRAPHS = 3
