"""A class that says it is another one; a descriptor that only writes; no iteration."""

import torch

GRAPHS = 1
REFERENCE_GRAPHS = 2


class Text:
    __class__ = str


class Number:
    @property
    def __class__(self):
        return int


class Writes:
    def __init__(self):
        self.log = []

    def __set__(self, obj, value):
        self.log.append(value)


class Owner:
    written = Writes()


class Sequence:
    __iter__ = None

    def __getitem__(self, i):
        return i


def fn(x):
    owner = Owner()
    owner.written = 3
    declared = isinstance(Text(), str), isinstance(Number(), int), Text().__class__ is str
    try:
        iter(Sequence())
    except TypeError as error:
        refused = str(error)
    return x + 1, declared, owner.written.log, owner.__dict__, refused


def inputs():
    return (torch.ones(2),)
