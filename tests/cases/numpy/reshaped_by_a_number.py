"""A number of rows that changes: one graph for all numbers, also where the array stays as large."""

import numpy as np

GRAPHS = 3
REFERENCE_WRONG = "raises another exception where NumPy refuses a number"
SNAPSHOT = False


def fn(a, n, rows_first):
    if rows_first:
        return a.reshape(n, -1).sum(axis=0)
    return np.reshape(a, (-1, n)).mean(axis=0)


def calls():
    a = np.arange(24.0)
    return [(a, n, rows_first) for rows_first in (True, False) for n in (2, 3, 4, 6, 5)]
