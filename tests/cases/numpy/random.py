"""Random numbers are NumPy's own, drawn between two graphs."""

import numpy as np

BREAKS = ["Attempted to call function marked as skipped"]
SNAPSHOT = False


def fn(a):
    return (a + 1) * np.random.randn(3)


def inputs():
    np.random.seed(0)
    return (np.arange(3.0),)
