"""Arrays that may not be written to, from outside and as NumPy gives them."""

import warnings

import numpy as np

GRAPHS = 1


def fn(a):
    wide = np.broadcast_to(a * 2, (3, *a.shape))
    return a + 1, wide, wide.sum(), a


def calls():
    warnings.simplefilter("error")
    return [
        (np.broadcast_to(np.arange(3.0), (2, 3)),),
        (np.broadcast_to(np.arange(3.0) + 1, (2, 3)),),
    ]


REFERENCE_WRONG = "it may be written to"
