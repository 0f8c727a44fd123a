"""Integer tensors raise for some ints, after what the program did before."""

import torch

GRAPHS = 2


def fn(x, n, log):
    log.append(n)
    return x + n, x // n, x % n, x**n


def calls():
    x = torch.tensor([7, -8, 9])
    return [(x, n, []) for n in [3, 4, 2, 0, -1, 5]]
