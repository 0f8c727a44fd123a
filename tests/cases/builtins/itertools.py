"""itertools: chain, product, islice, accumulate, zip_longest, repeat, count."""

import itertools

import torch

GRAPHS = 1


def fn(x, items):
    return (
        sum(x * i for i in itertools.chain(items, [9])),
        list(itertools.product(items, "ab")),
        list(itertools.islice(itertools.count(3), 4)),
        list(itertools.accumulate(items)),
        list(itertools.zip_longest(items, [0], fillvalue=None)),
        list(itertools.repeat(1, 2)),
        list(itertools.combinations(items, 2)),
        list(itertools.permutations(items, 2)),
    )


def inputs():
    return torch.ones(2), [1, 2, 3]
