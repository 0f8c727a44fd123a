"""`locals()`: variables with a value, cells too; not what a resume function adds."""

import torch

BREAKS = ["Unsupported Tensor.item() call"]


def inner(n):
    q = n

    def g():
        return q

    return locals()


def fn(x, a=1):
    b = 2
    first = locals()
    print((x.sum() > 0).item())
    c = a + b
    del b
    second = [1, c, sorted(locals()), sorted(vars()), dir()]
    return x + 1, first is not None, second, inner(3)["q"], "{a} {c}".format(**locals())


def inputs():
    return (torch.ones(2),)
