"""Marked functions are given and give modules, dataclasses and classes that pytrees know."""

import dataclasses

import torch
import torch.utils._pytree as pytree
from torch._dynamo.decorators import leaf_function

GRAPHS = 1
BACKWARD = True
SNAPSHOT = False
ALONE = True


@dataclasses.dataclass
class Pair:
    left: torch.Tensor
    right: torch.Tensor = None


class Named:
    def __init__(self, value, name):
        self.value, self.name = value, name


class Scale:
    def __init__(self, factor):
        self.factor = factor

    def __eq__(self, other):
        return isinstance(other, Scale) and self.factor == other.factor

    def __hash__(self):
        return hash(self.factor)


pytree.register_dataclass(Pair)
pytree.register_pytree_node(Named, lambda n: ((n.value,), n.name), lambda v, name: Named(*v, name))
pytree.register_constant(Scale)


@torch._dynamo.nonstrict_trace
def applied(layer, pair, *, scale):
    right = pair.left if pair.right is None else pair.right
    return Pair(layer(pair.left) * scale.factor, right + 1)


@torch.compiler.allow_in_graph
def renamed(named):
    return {"one": Named(named.value * 2, named.name + "!"), "other": [named.value + 1]}


@leaf_function
def opaque(layer, pair):
    return (layer(pair.left) if pair.left.sum() > 1e6 else layer(pair.right),)


@opaque.register_fake
def opaque_fake(layer, pair):
    return (layer(pair.left),)


layer = torch.nn.Linear(3, 3)
dropped = torch.nn.Sequential(layer, torch.nn.Dropout(0.0))
constant = Scale(3)


def fn(x, pair):
    made = applied(dropped, Pair(x * 2), scale=constant)
    given = applied(layer, pair, scale=constant)
    found = renamed(Named(made.left, "made"))
    (seen,) = opaque(layer, given)
    return found["one"].value, found["one"].name, found["other"], made.right, given.right, seen


def inputs():
    x = torch.ones(2, 3, requires_grad=True)
    return x, Pair(x, torch.full((2, 3), 2.0))


REFERENCE_WRONG = "torch.compile refuses such arguments of functions under allow_in_graph"
