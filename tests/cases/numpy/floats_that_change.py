"""Floats that change, or are drawn, beside arrays: of the dtype that NumPy makes them."""

import numpy as np
import torch

GRAPHS = 2
AOT_GRAPHS = 2
SNAPSHOT = False


def made(a, f):
    """Arrays and numbers that NumPy makes of floats."""
    filled = np.full_like(a, f), np.full((2, 2), f, dtype=np.float32), np.zeros(3)
    filled[2].fill(f)
    a = a.copy()
    a[0] = f
    a[1:3] = [f, 2 * f]
    rows = np.array([[f, 1], [0.0, -f]]), np.asarray(f), np.outer(a, [f, 1.0]), np.append(a, f)
    clipped = a.clip(0, f), a.clip(max=f), np.add(a, [f] * 4)
    number = np.float64(f)
    tensor = torch.ones(2)
    tensor *= number
    larger = a + number if number * 2 > 0 else a
    return filled, a, rows, clipped, number, tensor, torch.full((2,), number), larger


def fn(a, n, f):
    scaled = a * f - np.maximum(f, a), np.where(a > 1, f, a), np.minimum(a, -f)
    counts = n * f, np.fmin(n, f), np.copysign(n, -f).sum() + f, np.sqrt(f)
    noise = a * np.random.rand() + n.astype(np.float32) / np.random.uniform(1, 2)
    return scaled, counts, a < f, noise, made(a, f)


def calls():
    np.random.seed(0)
    return [(np.arange(4, dtype=np.float32), np.arange(4), n / 10) for n in (1, 3, 15, 25)]


REFERENCE_WRONG = "torch.compile draws others"
