"""A C function that nobody knows how to trace."""

import binascii

import torch

GRAPHS = 2


def fn(x, data):
    y = x + 1
    k = binascii.crc32(data)
    return y * (k % 7)


def inputs():
    return torch.ones(2), b"abc"
