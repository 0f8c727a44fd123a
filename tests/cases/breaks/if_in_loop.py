"""A branch on a tensor inside a loop."""

import torch

GRAPHS = 1
REFERENCE_GRAPHS = 0
BYTECODE = True


def fn(x):
    out = []
    for i in range(3):
        if x[i] > 0:
            out.append(x[i] * 2)
        else:
            out.append(x[i] - 1)
    return torch.stack(out)


def calls():
    return [(torch.tensor([1.0, -1.0, 2.0]),), (torch.tensor([-1.0, 1.0, 2.0]),)]
