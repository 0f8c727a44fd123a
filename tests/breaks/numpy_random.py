"""Numbers drawn by `numpy.random`."""

import numpy as np
import torch


def fn(x):
    np.random.seed(0)
    return x + float(np.random.rand()) * 0


def instead(x):
    return x + torch.rand(()) * 0


def inputs():
    return (torch.linspace(-1, 2, 4),)
