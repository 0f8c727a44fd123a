"""The step of a slice may change; one that is not positive raises torch's error."""

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 3
SNAPSHOT = False


def fn(x, n):
    try:
        return x[::n] + 1
    except ValueError as error:
        return str(error)


def calls():
    return [(torch.arange(12.0), n) for n in (2, 3, 5, -1, 0, 4)]
