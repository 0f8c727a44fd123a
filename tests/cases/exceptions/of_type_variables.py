"""Type variables are made by C code that refuses some arguments; `typing.Any` refuses checks."""

import typing

import torch

GRAPHS = 1


def error(make):
    try:
        made = make()
    except (TypeError, ValueError) as e:
        return type(e), str(e)
    return made.__name__, made.__module__


def fn(x):
    return x + 1, [
        error(lambda: typing.TypeVar("T", int)),
        error(lambda: typing.TypeVar("T", covariant=True, contravariant=True)),
        error(lambda: typing.TypeVar("T", bound=int)),
        error(lambda: typing.ParamSpec("P")),
        error(lambda: isinstance(3, typing.Any)),
    ]


def inputs():
    return (torch.ones(2),)
