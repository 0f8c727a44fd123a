"""Instances of classes derived from set and frozenset hold what they hold, whatever they say."""

import torch

GRAPHS = 2


class Names(frozenset):
    def __new__(cls, items, tag=0):
        made = super().__new__(cls, [i * 2 for i in items])
        made.tag = tag
        return made

    def __contains__(self, item):
        return super().__contains__(item * 2)

    def __iter__(self):
        return iter(sorted(super().__iter__(), reverse=True))


class Seen(set):
    def __init__(self, *items):
        super().__init__(*items)
        self.log = []

    def add(self, item):
        self.log.append(item)
        super().add(item)

    def __len__(self):
        return 100 + super().__len__()


def fn(x, names, seen):
    made = Names([2, 3], 7)
    own = Seen([1, 2])
    own.add(3)
    seen.add(9)
    seen |= {6}
    seen.discard(1)
    try:
        made.add(1)
    except AttributeError as error:
        text = str(error)
    x = x + len(names) * (2 in names) + made.tag + names.tag + len(seen)
    parts = [names | made, made & {4}, made - {4}, made.union([1]), made.copy()]
    return x, made, own, list(made), list(names), [type(p).__name__ for p in parts], text


def calls():
    return [
        (torch.ones(2), Names([1, 2]), Seen([1, 5])),
        (torch.ones(2), Names([1, 2]), Seen([1, 5])),
        (torch.ones(2), Names([3], 4), Seen()),
    ]
