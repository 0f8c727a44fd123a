"""Objects with `__hash__` and `__eq__` as keys and in sets."""

from dataclasses import dataclass

import torch

GRAPHS = 1


class Name:
    def __init__(self, text):
        self.text = text

    def __hash__(self):
        return hash(self.text)

    def __eq__(self, other):
        return isinstance(other, Name) and self.text == other.text


@dataclass(frozen=True)
class Size:
    width: int
    height: int = 1


table = {Name("a"): 3, (Name("b"), 1): 4}
areas = {Size(2): "two", Size(2, 2): "four"}


def fn(x):
    made = {Name("a"): x + 1, Name("b"): 2}
    made[Name("a")] = made[Name("a")] * 2
    names = {Name("a"), Name("a"), Name("c")}
    return (
        made[Name("a")] + table[Name("a")] + table[Name("b"), 1],
        [k.text for k in made],
        len(names),
        Name("c") in names,
        Name("z") in made,
        table.get(Name("z"), 0),
        areas[Size(2, 2)],
        Size(5) in areas,
        {Size(1): 1} == {Size(1): 1},
        hash(Size(1)) == hash(Size(1, 1)),
    )


def inputs():
    return (torch.ones(2),)
