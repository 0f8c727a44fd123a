"""A cached function makes a mask in the first call, which is plain Python; later calls find it."""

import functools

import torch

GRAPHS = 1


@functools.lru_cache
def causal(n, *, value=0.0):
    return torch.full((n, n), value).masked_fill(torch.ones(n, n).triu(1) == 1, -1e9)


@functools.lru_cache(maxsize=None, typed=True)
def decay(n, base):
    return base ** torch.arange(n)


@torch._dynamo.disable
def counts():
    return causal.cache_info(), decay.cache_info()


def fn(x):
    scores = x @ x.mT + causal(x.shape[0], value=0.5)
    same = causal(4, value=0.5) is causal(4, value=0.5)
    return torch.softmax(scores, -1) * decay(4, 0.5), same, counts()


def inputs():
    return (torch.arange(12.0).view(4, 3),)
