"""`while_loop` with ints that are carried: of the program, from arguments, and in a dictionary."""

import torch
from torch._higher_order_ops.while_loop import while_loop

GRAPHS = 2
REFERENCE_GRAPHS = 3
SNAPSHOT = False
ALONE = True


def fn(x, n):
    counted = while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, a * 2 + i), (0, x))
    rounds, last = while_loop(lambda i, a: i < n + 3, lambda i, a: (i + 2, a + n), (n, x))
    held = while_loop(
        lambda d: d["a"].sum() < 50,
        lambda d: ({"i": d["i"] - 1, "a": d["a"] * 2},),
        ({"i": n, "a": x},),
    )
    fixed = while_loop(lambda i, a: a.sum() < 20, lambda i, a: (7, a * 2), (n, x))
    never = while_loop(lambda i, a: i > 9, lambda i, a: (i + 1, a * 2), (0, x))
    return counted, rounds, rounds + 1, last * rounds, held, fixed, never


def inputs():
    return torch.ones(4), 2


def calls():
    return [inputs(), (torch.ones(4), 3), (torch.ones(4), 4)]
