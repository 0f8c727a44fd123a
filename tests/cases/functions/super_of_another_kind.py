"""A global of the name `super` that is something else."""

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 0


class Base:
    name = "base"


class Derived(Base):
    def without(self):
        return super().name

    def with_arguments(self):
        return super(Derived, self).name


class Other:
    def __init__(self, *args):
        self.name = f"other of {len(args)}"


def fn(x, other):
    global super
    d = Derived()
    names = [d.without(), d.with_arguments()]
    if other:
        super = Other
        names += [d.without(), d.with_arguments()]
        del super
    return x + 1, names


def calls():
    return [(torch.ones(2), False), (torch.ones(2), True)]
