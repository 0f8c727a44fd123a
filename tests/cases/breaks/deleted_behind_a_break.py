"""What is deleted behind a break goes at once: nothing else holds the variables."""

import weakref

import torch

GRAPHS = 1
BYTECODE = True


class Held:
    pass


@torch._dynamo.disable
def weak(o):
    return weakref.ref(o)


@torch._dynamo.disable
def dead(refs):
    return [r() is None for r in refs]


def fn(x):
    a, b = Held(), Held()
    refs = weak(a), weak(b)
    x = x + 1
    before = dead(refs)
    del a
    after = dead(refs)
    del b
    return x * 2, before, after, dead(refs)


def inputs():
    return (torch.ones(2),)
