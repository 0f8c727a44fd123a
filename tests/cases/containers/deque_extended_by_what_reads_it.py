"""A generator that reads the deque which it extends sees each item that was put before."""

from collections import deque

import torch

SNAPSHOT = False
GRAPHS = 1


def fn(x):
    left, right = deque([1], maxlen=4), deque([x])
    left.extendleft(left[0] + n for n in range(5))
    right.extendleft(right[0] * n + len(right) for n in range(1, 3))
    return x + 1, left, right


def inputs():
    return (torch.ones(2),)
