"""What a class gives for a name may come from elsewhere, or be a descriptor, in the next call."""

import torch

GRAPHS = 5
REFERENCE_GRAPHS = 6
BREAKS = ["Operation that can't be described without running it: operator.add"]


class Base:
    value = 1


class Derived(Base):
    pass


class Other:
    value = 30


def fn(x):
    Base.value += 1
    own = Derived.value
    return (x + own if isinstance(own, (int, float)) else x), Derived().value, Base.value


def before(index):
    if index == 2:
        Derived.value = 10
    if index == 3:
        Derived.value = 11.5
    if index == 4:
        del Derived.value
    if index == 5:
        Derived.__bases__ = (Other, Base)
    if index == 6:
        Derived.value = property(lambda self: 5)
    if index == 7:
        del Derived.value
        Derived.__bases__ = (Base,)
        Base.value = 2**70


def calls():
    return [(torch.ones(2),)] * 8


SNAPSHOT = False
