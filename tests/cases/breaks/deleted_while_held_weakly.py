"""`del` of an object that a weak reference or a finalizer watches takes effect at once."""

import weakref

import torch

GRAPHS = 1


class Thing:
    pass


def fn(x):
    first, second = Thing(), Thing()
    happened = []
    ref = weakref.ref(first)
    weakref.finalize(second, happened.append, "end")
    alive = ref() is not None
    x = x + 1
    del first
    dead = ref() is None
    happened.append("before")
    del second
    happened.append("behind")
    return x * 2, alive, dead, happened


def inputs():
    return (torch.ones(2),)
