"""Operators of arrays."""

import operator

import numpy as np

GRAPHS = 1


def fn(a, i):
    arithmetic = a + 1, 2 - a, a * a, a / 2, a // 2, a % 2, a**2, 2**a, -a, +a, abs(a), a @ a
    bits = i & 1, i | 4, i ^ 1, ~i, i << 1, i >> 1
    compared = a > 1, a <= a, a == 1, a != 2, 1 < a
    return arithmetic, bits, compared, operator.add(a, i), [1.0, 2.0, 3.0] + a


def inputs():
    return np.arange(3.0), np.arange(3)


REFERENCE_WRONG = "numbers become arrays"
