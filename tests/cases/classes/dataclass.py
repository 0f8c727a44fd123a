"""Dataclasses: made, compared, replaced, frozen."""

from dataclasses import dataclass, field

import torch

GRAPHS = 1


@dataclass
class Config:
    size: int = 2
    names: list = field(default_factory=list)
    value: torch.Tensor | None = None


@dataclass(frozen=True)
class Frozen:
    a: int
    b: int = 3


def fn(x, c):
    d = Config(size=c.size + 1, value=x)
    d.names.append("n")
    c.value = x * d.size
    f = Frozen(1)
    return d, f.a + f.b, f == Frozen(1, 3), d.value + 1


def calls():
    return [(torch.ones(2), Config()), (torch.ones(2), Config())]
