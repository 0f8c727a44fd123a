"""A property or a slot that raises AttributeError: the class's `__getattr__` is asked then."""

import torch
from torch import nn

GRAPHS = 1
REFERENCE_GRAPHS = 0


class Config:
    __slots__ = ("empty",)

    @property
    def size(self):
        return self.helper()

    def helper(self):
        raise AttributeError("helper")

    @property
    def odd(self):
        return self.nothing

    def __getattr__(self, name):
        if name in ("size", "empty"):
            return len(name)
        raise AttributeError("asked for " + name)


class Layer(nn.Module):
    @property
    def width(self):
        return self.weights.shape[0]


def fn(x, config, layer):
    y = x + config.size + config.empty
    texts = []
    for get in (lambda: config.odd, lambda: layer.width):
        try:
            get()
        except AttributeError as error:
            texts.append(str(error))
    return y * 2, texts, hasattr(config, "size"), getattr(layer, "width", 5)


def inputs():
    return torch.ones(2), Config(), Layer()
