"""Behind a break, iterators that variables hold go on where they stand."""

import torch

GRAPHS = 2
SNAPSHOT = False


def fn(x, names):
    numbers = iter((1, 2, 3, 4, 5))
    left = iter(names)
    steps = iter(range(0, 100, 7))
    x = x + next(numbers)
    next(left), next(steps)
    torch._dynamo.graph_break()
    x = x * next(numbers) + next(steps)
    x = x - next(numbers)
    if next(left) == "b":
        x = x + next(steps)
    return x, list(numbers), list(left), next(steps), numbers


def inputs():
    return torch.ones(3), ["a", "b", "c"]
