"""Powers of integers by arrays: NumPy raises where an exponent is negative, torch gives a number."""

import numpy as np

GRAPHS = 2
SNAPSHOT = False
REFERENCE_WRONG = "torch gives a number"


def fn(a, b):
    known = a ** np.array([2, 1, 0]), np.power(a, b.astype(np.uint8)), a.astype(float) ** b
    try:
        return *known, a**b
    except ValueError as error:
        return *known, str(error)


def calls():
    a = np.array([2, -3, 5])
    return [(a, np.array([2, 0, 1])), (a, np.array([1, -1, 0])), (a > 0, np.array([2, 0, 1]))]
