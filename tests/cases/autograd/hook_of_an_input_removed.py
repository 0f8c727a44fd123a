"""The handle of a hook removes it, in the function or behind a break."""

import torch

GRAPHS = 3
BREAKS = ["graph_break"]

# The number of a handle depends on what else the process has registered.
SNAPSHOT = False


def fn(x):
    first = x.register_hook(lambda g: g * 100)
    kept = x.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: g * 2)
    with x.register_hook(lambda g: g * 1000):
        y = x.exp()
    first.remove()
    torch._dynamo.graph_break()
    kept.remove()
    return y * 2


def calls():
    return [(torch.linspace(0, 1, 3).requires_grad_(),) for _ in range(2)]
