"""What `torch.cond` asks of sizes is a part of the graph: one graph for both answers."""

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 4
SNAPSHOT = False
ALONE = True


def fn(x, n):
    rows = x.shape[0]
    large = torch.cond(rows > 4, lambda a: a + rows, lambda a: a * 2, (x,))
    not_odd = torch.cond(not rows % 2 == 1, torch.sin, torch.cos, (large,))
    both = torch.cond((rows > 3) & (n < 5), lambda a: a - n, lambda a: a + n, (not_odd,))
    either = torch.cond((rows >= 2 * n) | (rows == 5), torch.relu, torch.neg, (both,))
    return large, not_odd, both, either


def inputs():
    return calls()[0]


def calls():
    return [
        (torch.arange(2.0 * n).reshape(n, 2) - 4, k) for n, k in [(3, 2), (4, 3), (5, 6), (8, 4)]
    ]
