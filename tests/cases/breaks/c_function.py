"""A pure C function of constants is folded; torch.compile breaks there."""

import binascii

import torch

GRAPHS = 1
REFERENCE_GRAPHS = 2


def fn(x, data):
    y = x + 1
    k = binascii.crc32(data)
    return y * (k % 7)


def inputs():
    return torch.ones(2), b"abc"
