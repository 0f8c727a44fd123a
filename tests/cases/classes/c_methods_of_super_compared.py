"""A method of C code that `super()` gives is the one that the object gives, where no class in front has another."""

import torch

GRAPHS = 1
SNAPSHOT = False


class Base:
    pass


class Derived(Base):
    def __str__(self):
        return "derived"


class Items(list):
    def append(self, item):
        super().append(item)


def fn(x):
    d = Derived()
    s = super(Derived, d)
    other = Derived()
    same = [
        s.__reduce__ == d.__reduce__,
        d.__repr__ == s.__repr__,
        s.__str__ != d.__str__,
        s.__repr__ == other.__repr__,
        s.__reduce__ == super(Derived, d).__reduce__,
    ]
    items = Items()
    above = super(Items, items)
    same += [above.append == items.append, above.extend == items.extend, above.extend == items.pop]
    return x + 1, same


def inputs():
    return (torch.ones(2),)
