"""`__getattr__` is asked where `__getattribute__` raises AttributeError."""

import torch

GRAPHS = 1


class Base:
    def __getattribute__(self, name):
        if name == "hidden":
            raise AttributeError("no")
        return object.__getattribute__(self, name)

    def __getattr__(self, name):
        if name == "absent":
            raise AttributeError("absent!")
        return "found " + name


class Derived(Base):
    def __getattr__(self, name):
        return "derived " + super().__getattr__(name)


def fn(x):
    b, d = Base(), Derived()
    b.k = 1
    return x + b.k, b.hidden, d.hidden, d.other, hasattr(b, "absent"), getattr(b, "absent", 4)


def inputs():
    return (torch.ones(2),)
