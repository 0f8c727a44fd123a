"""Items, slices, new axes, ellipses, lists and arrays of indices."""

import numpy as np

GRAPHS = 1


def fn(a, at):
    return (
        a[1],
        a[1, 2],
        a[:, 1:],
        a[..., 0],
        a[np.newaxis].shape,
        a[[0, 1], [2, 0]],
        a[at],
        a[:, None, ::2].sum(1),
        a[-1][at],
    )


def inputs():
    return np.arange(6.0).reshape(2, 3), np.array([1, 0])


REFERENCE_WRONG = "numbers become arrays"
