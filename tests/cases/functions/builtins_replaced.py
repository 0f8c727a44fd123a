"""A builtin that is replaced in `builtins` is seen by the functions that are called then."""

import builtins

import torch

GRAPHS = 1
SNAPSHOT = False


def count(items):
    return len(items)


def patched(items):
    return 4


def fn(x):
    before = count([1, 2])
    old = builtins.len
    builtins.len = patched
    builtins.surplus = 3
    during = count([1, 2]), surplus  # noqa: F821
    del builtins.surplus
    builtins.len = old
    try:
        surplus  # noqa: B018, F821
    except NameError as error:
        text = str(error)
    return x * during[0], before, during, count([1, 2]), text


def inputs():
    return (torch.ones(2),)
