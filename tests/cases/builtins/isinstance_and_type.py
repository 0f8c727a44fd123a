"""isinstance, issubclass, type, callable over many kinds of value."""

import torch

GRAPHS = 1


class Base:
    pass


class Sub(Base):
    def __call__(self):
        return 1


def fn(x, n, s):
    o = Sub()
    return (
        x + isinstance(n, int),
        isinstance(x, torch.Tensor),
        isinstance(x, (list, torch.Tensor)),
        isinstance(o, Base),
        isinstance(n, int | str),
        issubclass(Sub, Base),
        issubclass(bool, int),
        type(x) is torch.Tensor,
        type(n) is int,
        type(o) is Sub,
        type(s) == str,
        callable(o),
        callable(n),
        callable(fn),
        type(o).__name__,
        isinstance(x, torch.nn.Parameter),
        isinstance(True, int),
    )


def inputs():
    return torch.ones(2), 3, "s"
