"""Grad mode at a break inside `no_grad` is off, and on again behind an exception."""

import torch

GRAPHS = 3
REFERENCE_GRAPHS = 0


@torch.compiler.disable
def say(*args, **options):
    print(*args, **options)


def fail(x):
    say(torch.is_grad_enabled())
    raise RuntimeError("no")


def fn(x):
    y = x * 2
    try:
        with torch.no_grad():
            y = y + 1
            say(torch.is_grad_enabled())
            z = y * x
            fail(z)
    except RuntimeError:
        say(torch.is_grad_enabled())
        y = y * x
    return y * x


def inputs():
    return (torch.ones(2, requires_grad=True),)
