"""A break in a function called inside `try`, which catches what it raises behind the break."""

import torch

GRAPHS = 7
REFERENCE_GRAPHS = 1


@torch.compiler.disable
def say(*args, **options):
    print(*args, **options)


def inner(x, fail):
    try:
        y = x * 2
        say("inner")
        if fail:
            raise KeyError("k")
        return y + 1
    finally:
        x = x + 1
        say("cleanup")


def middle(x, fail):
    z = inner(x, fail) * 3
    return z - 1


def fn(x, fail):
    try:
        a = middle(x, False)
        b = middle(a, fail)
    except KeyError as error:
        b = x - len(error.args)
    return a + b


def calls():
    return [(torch.ones(2), False), (torch.ones(2), True), (torch.ones(2), True)]
