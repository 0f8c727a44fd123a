"""Sizes of arrays are constants where they say how often something is done, and for layouts."""

import numpy as np

GRAPHS = 7
SNAPSHOT = False
REFERENCE_WRONG = "gives an array for a number of NumPy's"


def fn(a, one_by_one):
    if one_by_one:
        return [row + 1 for row in a], len(a) * a
    return a * 2, a.sum(), np.sort(a, axis=0)


def made(n):
    return np.arange(float(n * 3)).reshape(n, 3)


def calls():
    one_by_one = [(made(n), True) for n in (4, 7)]
    turned = [(np.asfortranarray(made(n)), False) for n in (4, 7)]
    return [*one_by_one, *turned, (made(1), False), (np.arange(3.0), False), (made(0), False)]
