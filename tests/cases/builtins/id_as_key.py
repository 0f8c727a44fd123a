"""`id()` of an object made in the compiled function is good as a key."""

import torch

GRAPHS = 1


class Thing:
    pass


def fn(x):
    a, b = Thing(), [x]
    seen = {id(a): "a", id(b): "b"}
    y = x + 1
    ids = {id(y)}
    return (
        y,
        seen[id(a)],
        seen.get(id(b)),
        id(a) in seen,
        id(y) in ids,
        id(a) == id(b),
        id(a) == id(a),
    )


def inputs():
    return (torch.ones(2),)
