"""A function keeps `__annotate__` when annotations are read, and loses it when they are set."""

import torch

GRAPHS = 1
BREAKS = ["disable"]


@torch.compiler.disable
def look(function):
    annotate = function.__annotate__
    return annotate and annotate(1), function.__annotations__


def fn(x):
    def read(v: int, w: "text") -> float:
        return v

    def changed(v: int):
        return v

    def written(v: int):
        return v

    def without(v: int):
        return v

    def deleted(v: int = 2, *, by: int = 3):
        return v

    names = list(read.__annotations__)
    changed.__annotations__["v"] = str
    changed.__annotations__["self"] = changed
    before = written.__annotate__(1)
    written.__annotations__ = {"v": x}
    kept = without.__annotations__
    without.__annotate__ = None
    del deleted.__annotations__, deleted.__defaults__, deleted.__kwdefaults__
    gone = deleted.__annotations__, deleted.__annotate__, deleted.__defaults__
    state = before, written.__annotate__, kept is without.__annotations__, gone
    made = [read, changed, written, without, deleted]
    return x + 1, names, state, [look(function) for function in made], made


def inputs():
    return (torch.arange(3.0),)
