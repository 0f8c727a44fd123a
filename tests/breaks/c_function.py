"""A call of a function in C that is not torch's."""

import hashlib

import torch


def fn(x, name=b"weights"):
    return x + hashlib.sha256(name).digest()[0] % 7


SEED = hashlib.sha256(b"weights").digest()[0] % 7


def instead(x):
    return x + SEED


def inputs():
    return (torch.linspace(-1, 2, 4),)
