"""Integers divided by integers: NumPy gives zero where a divisor is zero, torch raises."""

import warnings

import numpy as np

GRAPHS = 2
SNAPSHOT = False
REFERENCE_WRONG = "torch raises ZeroDivisionError"


def fn(a, b):
    quotient, rest = divmod(a, b)
    a //= b
    c = a + 7
    c %= b
    return a, c, quotient, rest, np.fmod(a, b), np.divmod(5, b)


def calls():
    warnings.simplefilter("ignore")
    a = np.array([7, -7, 5, 0])
    return [
        (a, np.array([2, 0, -3, 0])),
        (a, np.array([2, 1, -3, 4])),
        (a.astype(np.int8), np.array([True, False, True, False])),
    ]
