"""dtype, device and memory format given as arguments."""

import torch

GRAPHS = 2


def fn(x, dtype, device):
    return x.to(dtype), torch.zeros(2, dtype=dtype, device=device), dtype.itemsize


def calls():
    return [
        (torch.ones(2), torch.float64, torch.device("cpu")),
        (torch.ones(2), torch.int32, torch.device("cpu")),
    ]
