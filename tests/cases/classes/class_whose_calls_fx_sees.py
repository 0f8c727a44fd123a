"""Instances of classes whose metaclass is torch.fx's, which looks for proxies in arguments."""

import abc

import torch
from torch.fx import ProxyableClassMeta

SNAPSHOT = False
GRAPHS = 1


class Batch(metaclass=ProxyableClassMeta):
    def __init__(self, rows, scale=2):
        self.rows = rows
        self.scale = scale

    def scaled(self):
        return self.rows * self.scale


class Sized(abc.ABC):
    @abc.abstractmethod
    def size(self): ...


class Meta(abc.ABCMeta, ProxyableClassMeta):
    pass


class Jagged(Sized, metaclass=Meta):
    def __init__(self, *parts):
        self.parts = parts

    def size(self):
        return sum(part.shape[0] for part in self.parts)


def fn(x):
    batch = Batch(Batch(x).scaled(), scale=3)
    jagged = Jagged(x, x + 1)
    kinds = [isinstance(jagged, Sized), type(jagged).__bases__ == (Sized,), type(batch).__name__]
    return batch.scaled() + jagged.size(), jagged.parts, kinds, batch


def inputs():
    return (torch.arange(3.0),)
