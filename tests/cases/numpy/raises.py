"""Operations that raise or warn do so."""

import numpy as np

GRAPHS = 1
SNAPSHOT = False


def fn(a, b):
    c = a + 1
    try:
        return c + b
    except ValueError as e:
        return c, str(e)


def inputs():
    return np.ones(3), np.ones(2)
