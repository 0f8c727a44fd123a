"""A write to an array that may not be written to raises as it does in eager mode."""

import numpy as np

GRAPHS = 1
SNAPSHOT = False


def fn(a):
    b = a * 2
    try:
        a[0] = 1
    except ValueError as e:
        return b, str(e)
    return b


def inputs():
    return (np.broadcast_to(np.arange(3.0), (2, 3)),)


REFERENCE_WRONG = "it may be written to"
