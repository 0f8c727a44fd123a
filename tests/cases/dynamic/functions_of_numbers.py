"""What Python computes of numbers that change is computed beside the graph, exceptions included."""

import math
import operator

import torch

GRAPHS = 8
SNAPSHOT = False


def attempt(f, *args):
    try:
        return f(*args)
    except (ArithmeticError, ValueError, TypeError) as e:
        return type(e).__name__, str(e)


def fn(x, i, f):
    y = x * math.cos(math.pi * i / 10)
    values = [
        attempt(function, *args)
        for function, *args in [
            (math.sqrt, i),
            (math.log, f),
            (math.exp, f),
            (math.isnan, f),
            (math.floor, f),
            (math.comb, 9, i),
            (round, f),
            (round, f, 1),
            (round, i, -1),
            (int, f),
            (float, i),
            (abs, f),
            (min, f, 1.0),
            (max, f, 2.0),
            (min, i, 3),
            (divmod, i, 7),
            (divmod, f, 0.7),
            (pow, 0.9, i),
            (pow, 2, i),
            (pow, i, -1),
            (pow, f, 2),
            (pow, f, 0.5),
            (operator.truediv, i, 3),
            (operator.truediv, f, i),
            (operator.floordiv, f, 0.3),
            (operator.mod, f, 0.3),
            (operator.mul, i, 0.5),
            (operator.add, f, i),
            (hex, i),
            (str, f),
            (float.is_integer, f),
            (int.bit_length, i),
        ]
    ]
    return y, values, i.bit_length(), f.is_integer(), -f, 0.9**i


def calls():
    x = torch.ones(2)
    floats = [0.5, 2.25, -1.5, 0.0, float("nan"), float("inf"), 1e300, 4.0, 1e-320]
    return [(x, i, f) for i, f in zip([3, 4, 0, -2, 7, 1, 100, 6, 2], floats, strict=True)]
