"""`types.SimpleNamespace`, returned and compared."""

from types import SimpleNamespace

import torch

GRAPHS = 1
config = SimpleNamespace(size=2, inner=SimpleNamespace(scale=3))


def fn(x):
    made = SimpleNamespace(a=1, t=x * config.inner.scale)
    made.b = config.size
    del made.a
    same = SimpleNamespace(a=1) == SimpleNamespace(a=1)
    other = SimpleNamespace(a=1) == SimpleNamespace(a=2) or SimpleNamespace() == 3
    return made, same, other, hasattr(made, "a"), vars(config)


def inputs():
    return (torch.ones(2),)
