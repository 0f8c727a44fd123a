"""Where a tensor is written to behind its text, the text is made where the program makes it."""

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 0


def looked_at(x):
    text = f"{x.sum()}"
    return len(text) + (text == "6.0")


def fn(x):
    y = x * 2
    text = f"{y}"
    y.add_(1)
    size = looked_at(x)
    return y, text, size


def inputs():
    return (torch.tensor([1.0, 2.0, 3.0]),)
