"""Lists that are appended to before, after and without being read, under two names."""

import torch

GRAPHS = 3
REFERENCE_GRAPHS = 2


def fn(x, a, b, same, nested):
    a.append(x + 1)
    b.append(x)
    same.append(3)
    a.append(len(b))
    nested["log"].append("x")
    nested["log"].append(x * 2)
    c = [a[-2] + 1, *b]
    a.append(len(a))
    return c, a is same


def calls():
    out = []
    for shared in (False, True, False):
        a, b, n = [1], [], {"log": []}
        out.append((torch.ones(2), a, b, a if shared else [], n))
    out.append((torch.ones(2), out[0][1], out[0][1], [], {"log": out[0][1]}))
    return out
