"""Calls with wrong arguments are refused in Python's words, by the name that a function has now."""

import dataclasses

import torch

GRAPHS = 2
REFERENCE_WRONG = "other texts"


@dataclasses.dataclass
class Point:
    x: torch.Tensor


def of_keywords(*, scale, **rest):
    return scale, rest


def of_positions(a, /, b, *, c=1):
    return a + b + c


def renamed(a):
    return a


renamed.__qualname__ = "another.name"


def text(f, *args, **kwargs):
    try:
        return f(*args, **kwargs)
    except TypeError as e:
        return str(e)


def same_keyword(f, more):
    try:
        return f(1, 2, c=1, **more)
    except TypeError as e:
        return str(e)


def fn(x):
    def inner(a, b):
        return a

    inner.__qualname__ = "given"
    return (
        x + 1,
        text(Point),
        text(Point, x, x),
        text(renamed),
        text(renamed, 1, z=2),
        text(inner, 1),
        text(of_keywords, 1),
        text(of_keywords, scales=1),
        text(of_positions, a=1, b=2),
        text(of_positions, 1, 2, 3, c=4),
        text(of_positions, 1, 2, cc=4),
        text(of_positions, 1, b=2, a=3),
        text(lambda: 0, 1, 2),
        same_keyword(of_positions, {"c": 2}),
    )


def inputs():
    return (torch.randn(2),)


def calls():
    return [inputs(), inputs(), inputs()]


def before(index):
    if index == 2:
        renamed.__qualname__ = "third"
