"""A function made by another module's code keeps its annotations across a break."""

import types

import torch

GRAPHS = 2
helper = types.ModuleType("ferrodyn_case_helper")
exec(
    "def make(n: int):\n"
    "    def inner(x: 'Tensor', k: int = 2) -> float:\n"
    "        return x * k + n\n"
    "    return inner\n",
    helper.__dict__,
)


def fn(x):
    f = helper.make(3)
    y = x + 1
    torch._dynamo.graph_break()
    return f(y), sorted(f.__annotations__.items(), key=str)


def inputs():
    return (torch.ones(2),)
