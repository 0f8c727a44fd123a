"""Going over an array, unpacking it, and what comes of its rows."""

import numpy as np

GRAPHS = 1


def fn(a):
    first, second = a
    return [row * 2 for row in a], first + second, sum(a[0]), list(zip(a, range(2)))


def inputs():
    return (np.arange(6.0).reshape(2, 3),)


REFERENCE_WRONG = "numbers become arrays"
