"""A functools.partial that was made before a break and is called behind it."""

import functools

import torch

GRAPHS = 1
BYTECODE = True


@torch.compiler.disable
def say(*args):
    print(*args)


def scale(x, a, b=2, *, c=3):
    return x * a + b - c


def fn(x, n):
    plain = functools.partial(scale, x)
    named = functools.partial(plain, b=n, c=4)
    say("break")
    return plain(2), named(3), named.keywords, named.args[0] is x, named.func is scale


def inputs():
    return torch.ones(2), 5
