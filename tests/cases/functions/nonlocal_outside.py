"""The compiled function rebinds a variable of its maker."""

import torch

GRAPHS = 1

seen = []


def make():
    count = 0

    def fn(x):
        nonlocal count
        count += 1
        return x + 1

    def read():
        return count

    fn.read = read
    seen.append(read)
    return fn


def inputs():
    return (torch.randn(2),)
