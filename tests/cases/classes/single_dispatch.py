"""`functools.singledispatch` and `singledispatchmethod`; what is registered later counts."""

import functools

import torch

GRAPHS = 2


@functools.singledispatch
def scale(v, x):
    return x


@scale.register
def _(v: int, x):
    return x + v


@scale.register(str)
def _(v, x):
    return x * len(v)


class Layer:
    @functools.singledispatchmethod
    def size(self, v):
        return 0

    @size.register
    def _(self, v: int):
        return v + 1


def fn(x):
    layer = Layer()
    values = [scale(3, x), scale("ab", x), scale(2.5, x), scale(True, x)]
    return values, layer.size(1), layer.size("a")


def calls():
    return [(torch.ones(2),) for _ in range(3)]


def before(index):
    if index == 2:
        scale.register(float)(lambda v, x: x - 1)
