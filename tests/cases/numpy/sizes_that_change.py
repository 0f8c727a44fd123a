"""Sizes of arrays that change are no constants where NumPy gives the same kind for others."""

import numpy as np
import torch

# One for the first size, one for all others; which change is known of the later kinds.
GRAPHS = 5
SNAPSHOT = False
REFERENCE_WRONG = "gives an array for a number of NumPy's"


def items(a, b):
    n = a.shape[0]
    made = np.zeros(a.shape) + b, np.arange(n), np.full((n, 2), 3.0), a[: n - 1], np.ones(n + 1)
    parts = a.reshape(-1), a.T, a[0], a[1:], a @ b.T, np.concatenate([a, b]), a.astype(np.float32)
    return np.sin(a) * 2 + a.sum() - b, a.mean(axis=0), np.where(a > 2, a, b), a.max(), made, parts


def looks(a, b):
    return a.shape, a.ndim, a.size, a.nbytes, a.strides, a.dtype, a + 1, a + b[:1], a * b


def tensors(a, b):
    x = torch.from_numpy(a)
    return x * 2, torch.as_tensor(b) @ x.t(), (x + 1).numpy()


def in_place(a, b):
    a += b
    a[0] = 1
    b *= 2
    return a.sum()


def fn(kind, a, b):
    return kind(a, b)


def made(kind, n):
    a = np.arange(float(n * 3)).reshape(n, 3)
    return kind, a, a + 1


def calls():
    return [made(kind, n) for kind in (items, looks, tensors, in_place) for n in (4, 7, 5)]
