"""Weak references that the function makes, to what variables or a caller hold or held."""

import weakref

import torch

GRAPHS = 2
SNAPSHOT = False
REFERENCE_WRONG = "takes objects that have gone for alive"


class Thing:
    def __init__(self, value):
        self.value = value


class Node:
    def __init__(self, parent=None):
        self.parent = weakref.ref(parent) if parent is not None else None
        self.children = []

    def grow(self):
        self.children.append(Node(self))
        return self.children[-1]

    def top(self):
        parent = self.parent() if self.parent is not None else None
        return self if parent is None else parent.top()


outside = Thing(3)
known = weakref.ref(outside)
owner = Thing(Thing(5))
owner.count = 0


def tree(x):
    first = Node()
    last = first.grow().grow()
    return x * (len(first.children) + 1), last.top() is first, weakref.ref(last)() is last


def kept_behind_a_break(x):
    thing, gone = Thing(2), Thing(2)
    kept, dead = weakref.ref(thing), weakref.ref(gone)
    del gone
    torch._dynamo.graph_break()
    return x + kept().value, dead() is None


def gone_before(x):
    thing = Thing(x)
    ref = weakref.ref(thing)
    holder = [thing]
    thing = None
    alive = ref() is holder[0]
    holder.clear()
    return alive, ref() is None


def replaced_outside():
    ref = weakref.ref(owner.value)
    before = ref() is owner.value
    owner.value = Thing(6)
    return before, ref() is None


def taken_from(x):
    holder, things = Thing(Thing(x)), {Thing(1), 2}
    ref = weakref.ref(holder.value)
    inside = weakref.ref(max(things, key=lambda t: isinstance(t, Thing)))
    before = ref() is holder.value, inside() in things
    holder.value = None
    things.clear()
    return before, ref() is None, inside() is None


def counted(x):
    owner.count = 1
    return x + known().value


def same():
    ref = weakref.ref(outside)
    return ref is weakref.ref(outside), ref is known, ref == known, type(ref) is weakref.ref


def handed_out():
    thing = Thing(7)
    thing.own = weakref.ref(thing)
    return thing, thing.own() is thing, weakref.ref(outside)


def fn(x):
    thing, own, ref = handed_out()
    ends = thing.own() is thing, own, ref() is outside
    gone = gone_before(x), taken_from(x), replaced_outside()
    return tree(x), counted(x), kept_behind_a_break(x), gone, same(), ends


def inputs():
    owner.value = Thing(5)
    return (torch.ones(2),)
