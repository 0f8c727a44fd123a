"""Methods of lists of plain values."""

import torch

GRAPHS = 1


def fn(x):
    a = [3, 1, 2]
    a.sort()
    b = sorted([3, 1, 2], reverse=True)
    a.remove(2)
    c = a.copy()
    c.append(9)
    d = [1, 2] + [3]
    d += [4]
    e = [0] * 3
    f = a.index(3)
    c.clear()
    return x + sum(d), a, b, c, d, e, f, a.count(1), [1, 2] == [1, 2], 3 in a


def inputs():
    return (torch.randn(3),)
