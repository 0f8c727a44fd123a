"""typing.NamedTuple with a default and a method."""

from typing import NamedTuple

import torch

GRAPHS = 1


class Pair(NamedTuple):
    left: torch.Tensor
    scale: float = 2.0

    def scaled(self):
        return self.left * self.scale


def fn(x):
    p = Pair(x)
    return p.scaled(), p, Pair(x, 3.0).scaled()


def inputs():
    return (torch.randn(2),)
