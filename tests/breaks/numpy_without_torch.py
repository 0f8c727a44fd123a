"""A function of NumPy that torch does not have."""

import numpy as np
import torch


def fn(x):
    return x + torch.from_numpy(np.interp(x.numpy(), [0.0, 2.0], [1.0, 3.0])).float()


def instead(x):
    return x + x.clamp(0, 2) + 1


def inputs():
    return (torch.linspace(-1, 2, 4),)
