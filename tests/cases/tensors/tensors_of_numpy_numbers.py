"""Tensors made of NumPy's numbers, which decide the dtype, and of ranges."""

import numpy as np
import torch

GRAPHS = 1
scale = np.float32(0.1)


def fn(x):
    y = x * 2
    root = torch.tensor(np.sqrt(2.0) * np.pi)
    rows = torch.tensor([[scale, 1], [2, np.int16(3)]])
    whole = torch.tensor([np.int32(1), 2]), torch.as_tensor([np.bool_(True)])
    cast = torch.tensor([np.float64(2.7), 1], dtype=torch.int64)
    window = torch.Tensor([np.exp(-i / 2) for i in range(3)])
    order = torch.LongTensor(range(x.size(0) - 1, -1, -1))
    return y[order] + window, root, rows, whole, cast, torch.Tensor(range(2))


def inputs():
    return (torch.arange(3.0),)
