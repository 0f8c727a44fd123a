"""Ints that a loop carries, given to an operator inside of it. Inductor refuses such graphs: below
compilers plain Python runs them."""

import torch
from torch._higher_order_ops.while_loop import while_loop

GRAPHS = 1
SNAPSHOT = False
ALONE = True


def fn(x):
    def given(i, a):
        return i + 1, torch.cond(a.sum() > 3, lambda a: a + i, lambda a: a - i, (a,))

    def carried(i, a):
        j, b = while_loop(lambda j, b: j < 3, lambda j, b: (j + 1, b * 1.5 + j), (0, a))
        return i + 1, b + i + j

    return while_loop(lambda i, a: i < 4, given, (0, x)), while_loop(
        lambda i, a: i < 2, carried, (0, x)
    )


def inputs():
    return (torch.arange(6.0).reshape(2, 3) / 4,)
