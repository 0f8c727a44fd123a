"""Views of arrays share memory with them, in the function and behind it."""

import numpy as np
import torch

GRAPHS = 1


def fn(a, x):
    tail = a[1:]
    tail += 1
    flat = a.reshape(-1)
    flat[0] = 7
    return a, tail, flat.T, np.asarray(a) is a, x.numpy()[1:], torch.from_numpy(a), a.copy()


def inputs():
    return np.arange(6.0), torch.ones(4)
