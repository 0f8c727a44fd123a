"""x.data = y between two uses that record gradients: both count."""

import torch

GRAPHS = 1
# AOTAutograd keeps the gradient of the second use only.
REFERENCE_WRONG = "the gradient of the first use"
SNAPSHOT = False


def fn(x):
    before = x * 3
    x.data = torch.ones(3)
    return before * x


def inputs():
    return (torch.arange(3.0).requires_grad_(),)
