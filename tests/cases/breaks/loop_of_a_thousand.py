"""A thousand breaks in a loop: neither nested calls nor graphs of its pieces."""

import torch


@torch.compiler.disable
def say(*args, **options):
    print(*args, **options)


GRAPHS = 1


def fn(x):
    for _ in range(1000):
        x = x + 1
        say(end="")
        x = x * 1.0001
    return x


def inputs():
    return (torch.ones(2),)
