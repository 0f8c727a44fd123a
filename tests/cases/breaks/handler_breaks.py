"""Breaks in the body, handler and `finally` of a `try`, and an exception raised in the body."""

import torch

GRAPHS = 5
REFERENCE_GRAPHS = 0
BYTECODE = True


@torch.compiler.disable
def say(*args, **options):
    print(*args, **options)


def fn(x):
    try:
        y = x + 1
        say("body")
        y = y * 2
        raise ValueError("a")
    except KeyError:
        y = x
    except ValueError as error:
        y = y + 3
        say("handler", error)
        y = y * 3
    finally:
        x = x + 1
        say("finally")
        x = x * 2
    return x + y


def inputs():
    return (torch.ones(2),)
