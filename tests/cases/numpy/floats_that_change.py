"""Floats that change, or are drawn, beside arrays: of the dtype that NumPy makes them."""

import numpy as np

GRAPHS = 2
AOT_GRAPHS = 2
SNAPSHOT = False


def fn(a, n, f):
    scaled = a * f - np.maximum(f, a), np.where(a > 1, f, a), np.minimum(a, -f)
    counts = n * f, np.fmin(n, f), np.copysign(n, -f).sum() + f, np.sqrt(f)
    noise = a * np.random.rand() + n.astype(np.float32) / np.random.uniform(1, 2)
    return scaled, counts, a < f, noise


def calls():
    np.random.seed(0)
    return [(np.arange(4, dtype=np.float32), np.arange(4), n / 10) for n in (1, 3, 15, 25)]


REFERENCE_WRONG = "torch.compile draws others"
