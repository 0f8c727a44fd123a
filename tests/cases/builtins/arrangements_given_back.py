"""Iterators of `itertools.product` and the like: what they are, and what is left of them."""

import copy
import itertools

import torch

GRAPHS = 1


@torch._dynamo.disable
def look(iterators):
    copies = [copy.copy(i) for i in iterators]
    return [(type(i).__name__, list(i)) for i in iterators + copies]


def fn(x):
    x = x + 1
    iterators = [
        itertools.product("ab", [1, 2]),
        itertools.product([x.ndim, "c"], repeat=2),
        itertools.permutations([1, 2, 3], 2),
        itertools.combinations(range(4), 2),
        itertools.combinations_with_replacement("ab", 2),
        itertools.product(),
        itertools.combinations("ab", 3),
    ]
    return x, [next(i, None) for i in iterators], look(iterators)


def inputs():
    return (torch.ones(2),)
