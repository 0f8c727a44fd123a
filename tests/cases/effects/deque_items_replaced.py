"""Items of a deque are replaced where they are: an iterator over it goes on. One that was changed
otherwise stops it."""

from collections import deque

import torch

GRAPHS = 1
REFERENCE_GRAPHS = 2

items = deque([1, 2, 3, 4])


@torch._dynamo.disable
def begin():
    it = iter(items)
    next(it)
    return it


def rest(it):
    try:
        return list(it)
    except RuntimeError as e:
        return str(e)


def fn(x):
    it, other = begin(), begin()
    items[1] = x + 1
    items[3] = 7
    first = rest(it)
    items.append(items.popleft())
    return first, rest(other), list(items)


def inputs():
    return (torch.ones(2),)
