"""Annotations of functions that are made inside: nothing is evaluated before it is asked for."""

import functools

import torch

GRAPHS = 1


def fn(x):
    width = 3

    def later(v: Undefined, *, by: width = 2) -> "text":  # noqa: F821, UP037
        return v * by

    def known(v: int, *rest: width) -> float:
        return v

    @functools.wraps(known)
    def wrapper(*args):
        return known(*args)

    def plain(v):
        return v

    y = wrapper(later(x))
    try:
        names = dict(later.__annotations__)
    except NameError as error:
        names = str(error)
    width = 4
    found = known.__annotations__, known.__annotations__ is known.__annotations__
    made = known.__annotate__(1), plain.__annotate__, plain.__annotations__
    return y, names, found, made, wrapper.__annotations__, known


def inputs():
    return (torch.arange(3.0),)
