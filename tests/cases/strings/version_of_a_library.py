"""Versions of libraries: a text of a class of its own, compared through regular expressions."""

import re

import torch

GRAPHS = 1


class Name(str):
    __slots__ = ()

    def __lt__(self, other):
        return len(self) < len(other)


name = Name("a-b-c")
pattern = re.compile(r"(\w)-(\w)")


def fn(x):
    if torch.__version__ < "1.5":
        return x
    if torch.__version__ >= (2, 1) and torch.__version__[0] > "1":
        x = x + 1
    numbers = [int(t) for t in torch.__version__.split("+")[0].split(".")[:2]]
    if tuple(numbers) > (1, 5):
        x = x * 2
    found = pattern.search(name).groups(), pattern.sub("x", name), name.upper(), name[::2]
    more = (
        f"{name}!",
        len(name),
        "b" in name,
        list(name),
        name + "d",
        name * 2,
        name < "ab",
        "%s" % name,
    )
    return x, found, more, name == "a-b-c", {name: 1}["a-b-c"], isinstance(name, str)


def inputs():
    return (torch.ones(2, 3),)
