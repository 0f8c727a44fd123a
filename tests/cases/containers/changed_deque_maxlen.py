"""The `maxlen` of a deque that was changed."""

from collections import deque

import torch

GRAPHS = 1
SNAPSHOT = False


def fn(x, d):
    d.append(x)
    d.appendleft(2)
    return x * d.maxlen, len(d)


def calls():
    return [(torch.ones(2), deque([1, 2, 3], 4)), (torch.ones(2), deque([1, 2, 3], 4))]
