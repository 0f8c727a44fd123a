"""`copy.copy` and `copy.deepcopy` of objects of user classes, shared parts and cycles included."""

import copy

import torch

GRAPHS = 1


class Part:
    def __init__(self, n):
        self.n = n


class Slotted:
    __slots__ = ("a", "b")


class Config:
    kind = "config"

    def __init__(self):
        self.part = Part(3)
        self.again = self.part
        self.sizes = [1, 2, (3, [4])]
        self.names = {"a": Part(5)}
        self.me = self


class Custom:
    def __init__(self, v):
        self.v = v

    def __deepcopy__(self, memo):
        made = Custom(copy.deepcopy(self.v, memo))
        memo[id(self)] = made
        return made

    def __getstate__(self):
        return {"v": self.v, "extra": 1}

    def __setstate__(self, state):
        self.__dict__.update(state)


class Items(dict):
    pass


config = Config()
config.slots = Slotted()
config.slots.a = [9]
config.items = Items(x=[1])
config.items.note = "n"


def fn(x):
    shallow = copy.copy(config)
    deep = copy.deepcopy(config)
    deep.part.n = 10
    deep.sizes[2][1].append(x)
    deep.names["a"].n += 1
    local = Config()
    local.x = [4]
    both = copy.deepcopy(local), copy.copy(local)
    custom = copy.deepcopy([Custom([1]), Custom([2])])
    tested = (
        shallow.part is config.part,
        deep.part is deep.again,
        deep.part is config.part,
        deep.me is deep,
        both[0].part.n,
        both[1].part is local.part,
        deep.slots.a,
        deep.slots.a is config.slots.a,
        hasattr(deep.slots, "b"),
        deep.items,
        deep.items.note,
        copy.copy(custom[0]).extra,
    )
    return x + deep.part.n, deep, shallow, both[1].x, custom, tested


def inputs():
    return (torch.ones(2),)
