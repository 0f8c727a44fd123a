"""A call of a TypedDict makes a plain dict."""

from typing import TypedDict

import torch

GRAPHS = 1


class Options(TypedDict, total=False):
    size: int
    name: str


def fn(x):
    made = Options(size=1, name="n")
    made["size"] += 1
    return x * made["size"], made, type(made) is dict


def inputs():
    return (torch.ones(2),)
