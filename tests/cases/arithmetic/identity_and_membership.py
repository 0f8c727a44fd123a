"""`is`, `is not`, `in`, `not in` over plain values."""

import torch

GRAPHS = 1


def fn(x, key, table):
    a = key is None
    b = key is not None
    c = key in table
    d = "zzz" not in table
    e = 3 in (1, 2, 3)
    f = "bc" in "abcd"
    return x + 1, a, b, c, d, e, f, 5 in range(0, 10, 5)


def inputs():
    return torch.randn(2), "k", {"k": 1}
