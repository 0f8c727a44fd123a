"""An array of a shape that follows from a number: one graph, but for rows of one item."""

import numpy as np

# The first number, any number, a row for each item.
GRAPHS = 3
SNAPSHOT = False


def fn(a, n):
    b = a.reshape(n, -1)
    return b * 2, np.sin(b), b.sum(0), np.reshape(a, (n, a.size // n)) + 1


def calls():
    return [(np.arange(24.0), n) for n in (2, 3, 4, 6, 8, 12, 24)]
