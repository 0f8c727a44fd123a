"""An instance with `__call__` is what is compiled."""

import torch

GRAPHS = 1


class M:
    k = 3

    def __call__(self, x):
        return x * self.k


def make():
    return M()


def inputs():
    return (torch.ones(2),)
