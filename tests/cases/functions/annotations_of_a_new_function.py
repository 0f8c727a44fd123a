"""Annotations of a function that is made in the compiled one, and attributes that all have."""

import functools

import torch

GRAPHS = 1


def fn(x):
    def inner(a: int, b: "text" = 2) -> str:
        return a + b

    annotations = inner.__annotations__
    annotations["c"] = 1

    @functools.wraps(inner)
    def wrapper(*args):
        return inner(*args)

    def bare():
        pass

    same = wrapper.__annotations__ is annotations, bare.__annotations__ is bare.__annotations__
    known = inner.__globals__ is globals(), hasattr(bare, "__builtins__"), hasattr(bare, "none")
    return wrapper(x), same, known, inner.__annotations__, wrapper


def inputs():
    return (torch.ones(2),)
