"""A generator that has ended is held where the graph breaks, and handed out."""

import torch
import torch._dynamo

GRAPHS = 4


def numbers(n, *more, scale=1):
    for i in range(n):
        yield i * scale
    yield from more


def fn(x):
    factor = 2
    given = numbers(2, 5, scale=3)
    inside = (i * factor for i in range(3))
    raising = (1 // i for i in (1, 0))
    y = x + sum(given) + sum(inside) + next(raising)
    try:
        next(raising)
    except ZeroDivisionError:
        y = y * 2
    torch._dynamo.graph_break()
    y = y + len(list(given)) + len(list(inside)) + next(raising, 7)
    facts = given.gi_frame, given.gi_running, given.__name__, inside.__qualname__, given.close()
    return y, facts, given, inside


def inputs():
    return (torch.arange(3.0),)
