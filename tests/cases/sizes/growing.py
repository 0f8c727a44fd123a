"""A cache that grows by one row with each call."""

import torch

# The first call, the first size that is another one, and all others.
GRAPHS = 3


class Cache:
    def __init__(self):
        self.keys = None


class Attention(torch.nn.Module):
    def forward(self, x, cache):
        if cache.keys is None:
            cache.keys = x
        else:
            cache.keys = torch.cat([cache.keys, x], 1)
        scores = x @ cache.keys.transpose(1, 2)
        return scores.softmax(-1) @ cache.keys, cache.keys.shape[1]


def make():
    return Attention()


def calls():
    cache = Cache()
    return [(torch.ones(2, 4 if i == 0 else 1, 8), cache) for i in range(12)]
