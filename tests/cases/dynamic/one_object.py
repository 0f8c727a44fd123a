"""An int that is computed once is one object wherever it is."""

import torch

GRAPHS = 1
REFERENCE_GRAPHS = 3


class Holder:
    pass


def fn(x, n, holder):
    a = n + 1000
    b = a * 3
    holder.b = b
    return x + 1, a, a, [a, b], {"b": b}, b is holder.b


def calls():
    x = torch.ones(2)
    return [(x, n, Holder()) for n in [1000, 2000, 3000]]
