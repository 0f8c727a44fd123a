"""itertools over containers that hold tensors: lazy, in order, shared buffers."""

from itertools import (
    accumulate,
    chain,
    combinations,
    compress,
    count,
    cycle,
    dropwhile,
    filterfalse,
    groupby,
    islice,
    pairwise,
    permutations,
    product,
    repeat,
    starmap,
    takewhile,
    tee,
    zip_longest,
)

import torch

GRAPHS = 1


def fn(x, names):
    parts = [x + i for i in range(4)]
    a, b = tee(parts)
    next(b)
    gaps = [q - p for p, q in zip(a, b)]
    grouped = {k: [n for n in g] for k, g in groupby(names, key=len)}
    return (
        list(accumulate(parts)),
        list(accumulate(parts, torch.mul, initial=x)),
        gaps,
        [p * q for p, q in pairwise(parts)],
        list(islice(chain(parts, [x]), 1, None, 2)),
        list(chain.from_iterable([parts[:1], parts[2:]])),
        [p + n for p, n in zip(parts, count(10, 5))],
        [p * s for p, s in zip(parts, cycle((1, -1)))],
        list(starmap(torch.add, [(x, x), (x, 1)])),
        [n for n in takewhile(lambda n: n != "ccc", names)],
        [n for n in dropwhile(lambda n: n != "ccc", names)],
        list(compress(parts, [1, 0, 0, 1])),
        list(filterfalse(lambda n: len(n) > 1, names)),
        list(zip_longest(names, parts[:2], fillvalue=None)),
        [p @ q for p, q in combinations(parts[:3], 2)],
        list(permutations(names[:2])),
        [p * k for p, k in product(parts[:2], repeat(3, 2))],
        grouped,
    )


def inputs():
    return (torch.arange(3.0), ["a", "bb", "cc", "ccc"])
