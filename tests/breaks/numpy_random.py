"""Numbers drawn by a generator of `numpy.random` of one's own."""

import numpy as np
import torch


def fn(x):
    generator = np.random.default_rng(0)
    return x + float(generator.random()) * 0


def instead(x):
    return x + torch.rand(()) * 0


def inputs():
    return (torch.linspace(-1, 2, 4),)
