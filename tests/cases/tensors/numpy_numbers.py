"""NumPy's functions of numbers give constants, and tensor operations take NumPy's numbers."""

import numpy as np
import torch

GRAPHS = 1


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.temperature = np.power(4, 0.5)
        self.offset = np.float32(0.1)

    def forward(self, x):
        pad = int(np.ceil(x.shape[0] / 8) * 8 - x.shape[0])
        y = x / self.temperature + self.offset - np.sqrt(x.shape[1])
        if np.prod(x.shape) > 4:
            y = y * np.int64(3)
        counts = torch.arange(np.int64(3)) * np.int32(2)
        numbers = np.mean([1, 2, 6]), np.float64(2.5).astype(np.int64), np.float64("nan")
        return y, counts * np.float64(0.5), x[np.int64(1)], pad, numbers, type(self.offset)


fn = Scaled()


def inputs():
    return (torch.ones(2, 3, requires_grad=True),)


REFERENCE_WRONG = "a NumPy scalar becomes an array"
