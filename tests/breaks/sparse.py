"""Sparse tensors."""

import torch


def fn(x):
    return x.relu().to_sparse().to_dense() * 2


def instead(x):
    return x.relu() * 2


def inputs():
    return (torch.linspace(-1, 2, 4),)
