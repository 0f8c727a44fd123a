"""`obj.__dict__` is live: writes through either are seen through the other."""

import torch

GRAPHS = 1


class Thing:
    __slots__ = ("slot", "__dict__")

    def __init__(self, x):
        self.x = x
        self.slot = x + 1


old = Thing(3)


def fn(x):
    new = Thing(x)
    d = new.__dict__
    new.y = x + 1
    d["z"] = new.y * 2
    del new.x
    seen = sorted(d), len(new.__dict__), d.get("x"), "slot" in d, new.__dict__ is d
    old.w = 7
    e = old.__dict__
    old.v = e["w"] + 1
    e["x"] = 5
    del e["w"]
    seen += (list(e.items()), old.x, hasattr(old, "w"), old.v, vars(old).pop("v"))
    for name in ("v", "x"):
        seen += (old.__dict__.get(name),)
    return new.z, new, d, seen, new.slot


def inputs():
    global old
    old.__dict__.clear()
    old.x = 3
    return (torch.ones(2),)
