"""What a function gives is not used, but for some values it raises: the handler runs, or the caller
gets the exception."""

import math

import torch

SNAPSHOT = False
GRAPHS = 5
REFERENCE_GRAPHS = 8


def of_a_number(x, f):
    try:
        n = int(f)
    except ValueError:
        return x - 1
    return x + isinstance(n, int)


def of_a_logarithm(x, f):
    try:
        math.log(f)
    except ValueError:
        return x - 2
    return x + 2


def to_the_caller(x, f):
    math.sqrt(f)
    return x * 2


def of_a_text(x, f):
    try:
        str(f).encode("ascii").decode("utf-8")
    except UnicodeError:
        return x - 3
    return x + 3


FUNCTIONS = of_a_number, of_a_logarithm, to_the_caller, of_a_text


def fn(kind, x, f):
    return FUNCTIONS[kind](x, f)


def calls():
    x = torch.arange(4.0)
    numbers = [1.5, 2.5, 3.5, math.nan, -1.0, 0.0, 5.5]
    texts = ["a", "bc", "\xe9", "d"]
    found = [(kind, x, f) for kind in range(3) for f in numbers]
    return found + [(3, x, text) for text in texts]
