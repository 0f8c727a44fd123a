"""NumPy arrays from outside as tensors, on their memory and as copies; their looks are guarded."""

import numpy
import torch

GRAPHS = 4


class Normalize(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = numpy.array([0.5, 0.25, 0.125], dtype=numpy.float32)
        self.count = numpy.zeros(1, dtype=numpy.int64)

    def forward(self, x, scale):
        mean = torch.tensor(self.mean, dtype=x.dtype)
        torch.from_numpy(self.count).add_(1)
        y = (x - mean) * torch.from_numpy(scale) + torch.as_tensor(self.mean)
        copied = torch.tensor(self.count)
        torch.from_numpy(self.count).add_(10)
        return y, copied, self.count, torch.as_tensor(scale, dtype=torch.int64)


def make():
    return Normalize()


def calls():
    x = torch.ones(2, 3)
    scales = [numpy.arange(3.0), numpy.arange(3.0) + 1, numpy.ones(3, dtype=numpy.float32)]
    other = numpy.ones((3, 2)).T
    return [(x, scale) for scale in [*scales, numpy.ones(1), scales[0], other]]
