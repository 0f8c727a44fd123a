"""What torch computes otherwise: roots of negative numbers, parts of such, ints beyond a dtype."""

import numpy as np

GRAPHS = 2
# torch's are not a number, rounded down, and wrapped.
REFERENCE_WRONG = "numbers of NumPy's"
SNAPSHOT = False


def fn(a, small, n):
    compared = small > n, n == small, np.less(small, n), np.searchsorted(small, -1)
    roots = np.cbrt(a), np.cbrt(small.astype(np.int64) - 200)
    parts = np.modf(a), [root.round(9) for root in roots]
    return compared, parts, small.clip(-1, 250), np.clip(small, 2, 1000)


def calls():
    a = np.array([-8.0, -0.5, 0.0, 2.5, -np.inf])
    return [(a, np.array([0, 3, 200, 255], np.uint8), n) for n in (-1, 300, 3, -200)]
