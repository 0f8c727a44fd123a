"""Slots that are deleted or not set, and attributes that have no place."""

import torch

GRAPHS = 1
REFERENCE_GRAPHS = 2
SNAPSHOT = False


class Slotted:
    __slots__ = ("a", "__weakref__")
    fixed = 1


class Plain:
    pass


def message(f, *args):
    try:
        f(*args)
    except AttributeError as e:
        return str(e)
    return "fine"


def delete(o):
    del o.a


def set_fixed(o):
    o.fixed = 2


def set_other(o):
    o.other = 2


def fn(x, outside):
    inside = Slotted()
    texts = [message(f, o) for f in (delete, set_fixed, set_other) for o in (inside, outside)]
    outside.a = 1
    inside.a = 1
    del outside.a, inside.a
    given = [hasattr(o, name) for o in (inside, outside) for name in ("a", "__weakref__", "other")]
    return x + 1, texts, given


def calls():
    return [(torch.ones(2), Slotted()), (torch.ones(2), Slotted())]
