"""A number that changes, as an operand of arrays: one graph for all of them."""

import numpy as np

GRAPHS = 2
AOT_GRAPHS = 2


def fn(a, n):
    return np.where(a < 2, n, a) + n, np.maximum(a, n)


def calls():
    return [(np.arange(4.0), n) for n in (3, 4, 5, 6)]
