"""A lock that is taken in the compiled function."""

import threading

import torch

LOCK = threading.Lock()
CALLS = [0]


def fn(x):
    with LOCK:
        CALLS[0] += 1
    return x.sin()


def instead(x):
    # The caller takes the lock, around the call.
    CALLS[0] += 1
    return x.sin()


def inputs():
    return (torch.linspace(-1, 2, 4),)
