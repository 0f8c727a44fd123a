"""Whether a number fits the dtype of its tensor is its value's to say."""

import torch

GRAPHS = 11
REFERENCE_GRAPHS = 5


def attempt(make):
    try:
        return make()
    except (RuntimeError, TypeError) as e:
        return type(e).__name__


def fn(x, n, s):
    y = x * 2
    small = attempt(lambda: torch.tensor([n], dtype=torch.int8))
    whole = attempt(lambda: torch.tensor(s, dtype=torch.int64))
    like = attempt(lambda: torch.zeros(1, dtype=torch.int32).new_tensor([n]))
    return y, small, whole, like


def calls():
    values = [(1, 1.5), (100, 2.5), (300, 1e300), (2**40, float("nan")), (7, 7.0)]
    return [(torch.ones(2), n, s) for n, s in values]
