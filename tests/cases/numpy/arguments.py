"""Arrays as arguments: inputs on their memory, guarded by dtype, sizes and strides."""

import numpy as np

GRAPHS = 3


def fn(a, b):
    return np.sum(a * b, axis=0) + 1, a


def calls():
    a = np.arange(6.0).reshape(2, 3)
    return [
        (a, np.ones((2, 3))),
        (a + 1, np.ones((2, 3))),
        (a.astype(np.float32), np.ones((2, 3))),
        (np.arange(6.0).reshape(3, 2).T, np.ones(3)),
    ]
