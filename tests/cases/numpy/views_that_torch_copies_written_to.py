"""Such a view that is read behind a write to its memory, or written to."""

import numpy as np

BREAKS = [
    "NumPy array read behind a write to what may be its memory",
    "Write to a read-only NumPy array: setitem",
]
SNAPSHOT = False


def fn(a):
    turned = a[::-1]
    total = turned * 2
    a[0] = 100
    total = total + turned
    turned = a[::-1]
    turned[0] = 3
    return total, a


def inputs():
    return (np.arange(4.0),)
