"""An assertion about values behind dropout: where it fails, the same numbers are drawn again."""

import torch

GRAPHS = 1
REFERENCE_WRONG = "torch's assertion raises another exception"
SNAPSHOT = False

layer = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.5))
seen = []


def fn(x):
    y = layer(x)
    seen.append(1)
    assert (y.abs() < 100).all(), "too large"
    return y + torch.rand(4)


def calls():
    return [(torch.ones(2, 3),), (torch.full((2, 3), 1e4),), (torch.zeros(2, 3),)]
