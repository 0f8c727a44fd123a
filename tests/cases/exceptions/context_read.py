"""What was handled when an exception was raised, and where it was raised, are read in a handler."""

import torch

GRAPHS = 1


def fn(x):
    try:
        try:
            raise ValueError("first")
        except ValueError:
            raise KeyError("second")
    except KeyError as error:
        context = error.__context__
        lines = error.__traceback__.tb_lineno
    return x + 1, type(context).__name__, context.args, lines


def inputs():
    return (torch.ones(2),)
