"""A bound method that is an attribute of a class stays bound to its own instance."""

import torch

BREAKS = [
    "Missing bytecode handler: LoadBuildClass",
    "Attempted to call function marked as skipped",
]


class Scale:
    def __init__(self, by):
        self.by = by

    def apply(self, x):
        return x * self.by


class Layer(Scale):
    own = Scale.apply
    other = Scale(5).apply


def fn(x):
    first = Scale(2)

    class Local(Scale):
        other = first.apply

    layer, local = Layer(3), Local(4)
    return (
        layer.own(x),
        layer.other(x),
        Layer.other(x),
        local.apply(x),
        local.other(x),
        Local.other(x),
    )


def inputs():
    return (torch.ones(2),)
