"""A write that the memory of a new tensor refuses raises behind what the program did before it."""

import torch

SNAPSHOT = False
GRAPHS = 1


def fn(x, log):
    log.append(1)
    y = x.clone()
    return y.add_(y.t())


def calls():
    for _ in range(2):
        yield torch.arange(16.0).reshape(4, 4), []


COMPILED_WRONG = "AOTAutograd computes what the memory of a tensor refuses"
