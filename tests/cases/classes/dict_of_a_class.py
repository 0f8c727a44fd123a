"""The dictionary of a class is looked at like any mapping: what it holds is guarded."""

import types

import torch

GRAPHS = 2


class Options:
    scale = 2
    shift = 1

    @property
    def both(self):
        return self.scale + self.shift

    @staticmethod
    def doubled(x):
        return x * 2


class Derived(Options):
    shift = 3


def fn(x):
    own = Derived.__dict__
    if "extra" in own:
        x = x + own["extra"]
    x = x * Options.__dict__["scale"] + vars(Derived).get("shift") + own.get("scale", 10)
    x = Options.__dict__["doubled"].__func__(x) + Options.__dict__["both"].fget(Derived())
    for cls in Derived.__mro__:
        if "both" in cls.__dict__:
            break
    try:
        own["none"]
    except KeyError as error:
        missing = str(error)
    numbers = {k: v for k, v in vars(Options).items() if isinstance(v, int)}
    kind = type(own) is types.MappingProxyType
    return x, cls.__name__, missing, numbers, [k for k in own if k[0] != "_"], kind


def before(i):
    if i == 0 and "extra" in Derived.__dict__:
        del Derived.extra
    if i == 1:
        Derived.extra = 5


def inputs():
    return (torch.ones(3),)
