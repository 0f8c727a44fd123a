"""A `__torch_function__` that leaves the call to others, raises, or is disabled."""

import torch

GRAPHS = 2


class Leaves:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


class Takes:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return [t.__name__ for t in types], kwargs


class Raises:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        raise ValueError(func.__name__)


class Hidden:
    __torch_function__ = torch._C._disabled_torch_function_impl


def attempt(f, *args, **kwargs):
    try:
        return f(*args, **kwargs)
    except (TypeError, ValueError) as e:
        return type(e).__name__, str(e)


def fn(x):
    y = x + 1
    first = attempt(torch.add, Leaves(), x)
    second = attempt(torch.add, Leaves(), Takes())
    third = attempt(torch.add, Takes(), Leaves(), alpha=1)
    fourth = attempt(torch.mul, x, Raises())
    fifth = attempt(torch.add, Hidden(), x)
    sixth = attempt(torch.sum, x, dim=Takes())
    return y * 2, first[0], second, third, fourth, fifth[0], sixth[0] == "TypeError"


def inputs():
    return (torch.ones(2),)
