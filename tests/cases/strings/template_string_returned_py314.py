"""A template string that leaves the compiled function is made by plain Python."""

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 1


def fn(x, name):
    y = x * 2
    template = t"{name:>{3}}: {name!r}"
    z = y.sin()
    return z, template.strings, str(template), [template]


def inputs():
    return torch.arange(3.0), "n"
