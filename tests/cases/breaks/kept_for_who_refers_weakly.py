"""What plain Python knows lives as long as the variables that hold it, used or not."""

import os
import tempfile
import weakref

import torch

GRAPHS = 1


class Thing:
    value = 3

    def method(self):
        return self.value


@torch._dynamo.disable
def remember(thing):
    return weakref.ref(thing)


def directory():
    made = tempfile.TemporaryDirectory()
    path = made.name
    torch._dynamo.graph_break()
    before = os.path.exists(path)
    torch._dynamo.graph_break()
    return before, os.path.exists(path)


def proxy():
    thing = Thing()
    p = weakref.proxy(thing)
    first = p.value
    torch._dynamo.graph_break()
    return first, p.value


def weak_set():
    things = [Thing() for _ in range(3)]
    known = weakref.WeakSet(things)
    first = len(known)
    torch._dynamo.graph_break()
    return first, len(known)


def held_by_another():
    holder = Thing()
    holder.thing = Thing()
    ref = remember(holder.thing)
    first = ref() is None
    torch._dynamo.graph_break()
    return first, ref() is None


def weak_method():
    thing = Thing()
    method = weakref.WeakMethod(thing.method)
    first = method()()
    torch._dynamo.graph_break()
    return first, method()()


def fn(x):
    return x + 1, directory(), proxy(), weak_set(), held_by_another(), weak_method()


def inputs():
    return (torch.ones(2),)
