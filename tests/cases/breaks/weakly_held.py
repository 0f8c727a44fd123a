"""A variable that is not used any more keeps alive what a weak reference was made to."""

import weakref

import torch

GRAPHS = 3
REFERENCE_GRAPHS = 1


class Thing:
    pass


def of_a_tensor(x):
    y = x + 1
    ref = weakref.ref(y)
    return ref() * 2


def of_an_object(x):
    thing = Thing()
    thing.x = x + 1
    ref = weakref.ref(thing)
    return ref().x * 2


def reference_to(thing):
    return weakref.ref(thing)


def in_a_callee(x):
    thing = Thing()
    thing.x = x + 1
    return reference_to(thing)().x * 3


def fn(x):
    return of_a_tensor(x), of_an_object(x), in_a_callee(x)


def inputs():
    return (torch.ones(2),)
