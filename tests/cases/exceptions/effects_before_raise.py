"""Changes made before an exception leaves the function are seen."""

import torch

GRAPHS = 1
REFERENCE_GRAPHS = 0

log = []


def fn(x, items):
    items.append(1)
    log.append("before")
    x.add_(1)
    raise ValueError("after")


def calls():
    return [(torch.ones(2), []), (torch.ones(2), [])]
