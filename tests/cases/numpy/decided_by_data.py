"""What an array holds decides: a branch, a mask, a search."""

import numpy as np

BREAKS = ["truth of", "numpy.getitem"]
SNAPSHOT = False


def fn(a):
    if (a + 1).sum() > 3:
        a = a * 2
    return a[a > 2]


def inputs():
    return (np.arange(4.0),)
