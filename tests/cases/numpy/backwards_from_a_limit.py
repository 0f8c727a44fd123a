"""Slices that go backwards, with limits: NumPy counts them from the front."""

import numpy as np

GRAPHS = 1
# `torch._numpy` counts a limit from the end of the array that is turned around.
REFERENCE_WRONG = "slices backwards with limits"
SNAPSHOT = False


def fn(a, k):
    kept = a[3::-1], a[:1:-1], a[4:0:-3], a[0, ::-1], a[..., 2:0:-1], a[k::-2, 1]
    return *kept, a[-2::-1, -1] + a[k:, 0][1::-1].sum()


def inputs():
    return np.arange(24.0).reshape(6, 4), 4
