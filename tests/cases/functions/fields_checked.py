"""What a function keeps in C takes values of one type only, and comes before its `__dict__`."""

import torch

GRAPHS = 1


def refused(f, name, value):
    try:
        setattr(f, name, value)
    except TypeError as e:
        return str(e)


def fn(x):
    def inner(y, k=1):
        return y + k

    names = "__name__", "__qualname__", "__defaults__", "__kwdefaults__", "__annotations__"
    wrong = [refused(inner, name, 5) for name in names]
    wrong.append(refused(inner, "__name__", None))
    inner.__name__ = "other"
    inner.__annotations__ = {"y": int}
    inner.__dict__.update({"__annotations__": 3, "__doc__": 4, "__name__": 5, "mark": 6})
    inner.__defaults__ = (10,)
    seen = inner.__name__, inner.__annotations__, inner.__doc__, inner.mark
    return inner(x), wrong, seen, sorted(inner.__dict__), inner


def inputs():
    return (torch.ones(3),)
