"""`len()` of an object whose `__len__` gives an int that changes: two graphs serve all lengths."""

import torch

GRAPHS = 2


class Cache:
    def __init__(self):
        self.seen = 2

    def __len__(self):
        return self.seen


def fn(x, cache):
    past = len(cache)
    cache.seen += 1
    try:
        y = x + past
    finally:
        if past > 1:
            x = x * 2
    return y + x, len(cache)


def calls():
    cache = Cache()
    return [(torch.ones(2), cache) for _ in range(5)]
