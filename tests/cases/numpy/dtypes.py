"""Dtypes: named in every way, asked for, compared; divisions that torch makes others of."""

import numpy as np

GRAPHS = 1


def fn(a, i):
    assert a.dtype == np.float32 and a.dtype.kind == "f" and a.dtype in (np.float64, np.float32)
    made = [np.arange(3, dtype=d) for d in (float, np.int32, "float16", np.dtype("uint8"))]
    cast = a.astype(bool).astype(int).astype("float32")
    mixed = (
        a * np.float64(2),
        a * 2.0,
        i / 2,
        i // 2,
        i**2,
        np.sqrt(i),
        i * np.int8(3),
        np.true_divide(i, i),
    )
    return made, cast, mixed, a.astype(np.float64).dtype


def inputs():
    return np.ones(3, dtype=np.float32), np.arange(1, 4)


REFERENCE_WRONG = "an integer array divided is of float32"
