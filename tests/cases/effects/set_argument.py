"""A set of the caller's is changed."""

import torch

GRAPHS = 1
BYTECODE = True


def fn(s, x):
    s.add(5)
    s.discard(1)
    s |= {7}
    return x + len(s)


def calls():
    return [({1, 2}, torch.ones(2)), ({1, 2}, torch.ones(2))]
