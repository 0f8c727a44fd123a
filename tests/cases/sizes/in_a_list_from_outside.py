"""Numbers in a list, or a tuple, that comes from outside are sizes that are no constants."""

import torch

# One for the first numbers, one for all others; which change is known of the tuple then.
GRAPHS = 3
SNAPSHOT = False


def parts(x, sizes):
    return [part * 2 for part in x.split(sizes)]


def whole(x, sizes):
    return x[: sizes[0] * 2].view(sizes) + 1


def fn(x, sizes, f):
    return f(x, sizes)


def calls():
    x = torch.arange(20.0)
    split = [(x, [n, 20 - n], parts) for n in (3, 5, 7, 9)]
    viewed = [(x, (n, 2), whole) for n in (3, 5, 7, 9)]
    return split + viewed
