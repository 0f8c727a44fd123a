"""Products of vectors, matrices and batches."""

import torch

GRAPHS = 1


def fn(v, m, b):
    return v @ v, m @ v, v @ m, m @ m, b @ m, b @ b.transpose(1, 2), torch.matmul(b, v)


def inputs():
    return torch.randn(4), torch.randn(4, 4), torch.randn(3, 4, 4)
