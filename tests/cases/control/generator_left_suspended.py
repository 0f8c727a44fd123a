"""A generator that is left in the middle runs its `finally` when it is dropped."""

import torch

GRAPHS = 0
REFERENCE_GRAPHS = 2

log = []


def numbers(x):
    try:
        yield x
        yield x + 1
    finally:
        log.append("closed")


def fn(x):
    for y in numbers(x):
        break
    it = numbers(y * 2)
    z = next(it)
    return z, len(log)


def inputs():
    return (torch.ones(2),)
