"""NumPy's numbers, other ones on each call, are inputs of one graph beside an array."""

import numpy as np

GRAPHS = 1
REFERENCE_WRONG = "gives an array for a number of NumPy's, and compiles a second graph for float64"
SNAPSHOT = False


def fn(a, scale, count, flag, pair):
    a += count
    chosen = np.where(flag, a, -a), np.clip(a, pair[0], pair[1])
    return a * scale, count - a, a > scale, chosen, np.maximum(a, scale).sum(), [scale, count]


def calls():
    rows = []
    for n in (3, 5, 0, 9):
        pair = np.float64(n), np.float32(n + 1)
        rows.append((np.arange(4.0), np.float64(n + 0.5), np.int64(n), np.bool_(n % 3), pair))
    return rows
