"""inference_mode outside: the inputs are inference tensors."""

import torch

GRAPHS = 2


def fn(x):
    return x * 2 + 1


def calls():
    with torch.inference_mode():
        a = torch.ones(2)
    return [(torch.ones(2),), (a,), (torch.ones(2),)]


BACKWARD = False
