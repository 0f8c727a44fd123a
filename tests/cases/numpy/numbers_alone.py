"""NumPy's numbers with no array beside them are constants until one is another."""

import numpy as np

GRAPHS = 2
REFERENCE_WRONG = "gives an array for a number of NumPy's"
SNAPSHOT = False


def fn(a, x, n):
    scaled = np.sin(x) * 2 + x
    return a + scaled, scaled, -n, n * 3 + 1, x > 2, abs(x - n)


def calls():
    return [(np.arange(3.0), np.float64(n + 0.5), np.int32(n)) for n in (1, 2, 3, 4)]
