"""Methods of arrays."""

import numpy as np

GRAPHS = 1


def fn(a):
    moved = (
        a.reshape(3, 2),
        a.transpose(1, 0),
        a.ravel(),
        a.flatten(),
        a.copy(),
        a.squeeze(),
        a.swapaxes(0, 1),
    )
    reduced = (
        a.max(axis=0),
        a.all(axis=0),
        a.cumsum(),
        a.std(),
        a.var(axis=1),
        a.prod(),
        a.argmin(axis=1),
    )
    return (
        moved,
        reduced,
        a.clip(1, 3),
        a.repeat(2),
        a.take([0, 1]),
        a.dot(a.T),
        a.round(),
        a.argsort(axis=1),
    )


def inputs():
    return (np.arange(6.0).reshape(2, 3),)


REFERENCE_WRONG = "numbers become arrays"
