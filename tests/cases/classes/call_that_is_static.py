"""What is called `__call__` in a class gets the object, its class or neither, as in Python."""

import functools

import torch

SNAPSHOT = False
GRAPHS = 1
REFERENCE_GRAPHS = 9


class Static:
    @staticmethod
    def __call__(x, n=1):
        return x + n


class OfClass:
    factor = 3

    @classmethod
    def __call__(cls, x, *, n=0):
        return x * cls.factor + n


class Derived(OfClass):
    factor = 5


class Other:
    def __call__(self, x, n):
        return x - n


class Delegates:
    __call__ = Other()


class Partial:
    __call__ = functools.partial(torch.add, alpha=2)


outer = [Static(), OfClass(), Derived(), Delegates(), Partial()]


def fn(x):
    static, of_class, derived, delegates, partial = outer
    made = [Static()(x, n=4), OfClass()(x), Derived()(x, n=2), Delegates()(x, n=6)]
    return (
        [static(x), static(x, 2), of_class(x, n=7), derived(x)],
        [delegates(x, 1), partial(x, x)],
        made,
    )


def inputs():
    return (torch.arange(3.0),)
