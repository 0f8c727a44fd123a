"""Ints that branches of `torch.cond` give: where they differ, only the graph knows which it is."""

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 4
SNAPSHOT = False
ALONE = True


def fn(x):
    def yes(a):
        return a + 1, 3, {"same": 7, "other": (1, 2)}

    def no(a):
        return a - 1, 5, {"same": 7, "other": (1, 4)}

    y, n, more = torch.cond(x.sum() > 0, yes, no, (x,))
    part, k = torch.cond(x.sum() > 0, lambda a: (a[:2] * 2, 1), lambda a: (a * 3, 2), (x,))
    return y * n + more["same"], n, more["other"], torch.ones(more["same"]), part * k


def inputs():
    return calls()[0]


def calls():
    return [(torch.full((n, 2), sign),) for n, sign in [(3, 1.0), (4, -1.0), (5, 1.0), (6, -1.0)]]
