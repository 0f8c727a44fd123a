"""getattr, hasattr, setattr, delattr, with and without a default."""

import torch

GRAPHS = 1


class Holder:
    kind = "h"

    def __init__(self):
        self.v = 3

    def method(self):
        return self.v


def fn(x, h):
    name = "v"
    a = getattr(h, name)
    b = getattr(h, "missing", 9)
    c = hasattr(h, "method"), hasattr(h, "nothing"), hasattr(x, "shape")
    setattr(h, "w", a + 1)
    d = getattr(h, "method")()
    e = getattr(x, "sum")()
    delattr(h, "w")
    return x * a + b, c, d, e, hasattr(h, "w"), getattr(h, "kind")


def calls():
    return [(torch.ones(2), Holder()), (torch.ones(2), Holder())]
