"""Arrays that are made in the function."""

import numpy as np

GRAPHS = 1


def fn(n, x):
    made = (
        np.zeros(n),
        np.ones((2, n), dtype=np.float32),
        np.full(n, 3),
        np.eye(n),
        np.arange(n),
        np.linspace(0, 1, n),
    )
    of_lists = (
        np.array([1, 2.5]),
        np.asarray([[1, 2], [3, 4]]),
        np.array([x.min(), 1.0]),
        np.array([x, x], dtype=int),
    )
    return made, of_lists, np.zeros_like(x), np.empty_like(x).shape, np.tri(n), np.meshgrid(x, x)


def inputs():
    return 3, np.arange(3.0)
