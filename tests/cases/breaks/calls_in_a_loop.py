"""A loop that breaks goes on as plain Python; what it calls is captured, and its caller's rest."""

import torch

# The caller up to the break, what the loop calls, and the rest of the caller.
GRAPHS = 3


@torch.compiler.disable
def say(x):
    print(tuple(x.shape))


def layer(x):
    return x.sin().cos()


def loop(x):
    for _ in range(4):
        x = layer(x)
        say(x)
        x = x * 2
    while x.sum() < 100:
        x = x.abs() + 1
    return x - 1


def fn(x):
    y = loop(x + 1)
    return y.relu(), y * x


def inputs():
    return (torch.ones(2, 3),)
