"""A frame that catches an exception and then raises another: context and cause are real."""

import torch

GRAPHS = 5
REFERENCE_GRAPHS = 0


@torch.compiler.disable
def say(*args, **options):
    print(*args, **options)


def find(table, key):
    try:
        return table[key]
    except KeyError as error:
        raise LookupError(f"no {key}") from error


def fn(x, table):
    y = x + 1
    try:
        y = y * find(table, "a")
    except LookupError as error:
        say(type(error.__cause__).__name__, error.__cause__.__traceback__ is not None)
        y = y - 1
    try:
        table["b"]
    except KeyError:
        y = y * 2
        raise ValueError("b is missing")
    return y


def calls():
    return [(torch.ones(2), {"b": 1}), (torch.ones(2), {"a": 3, "b": 1}), (torch.ones(2), {})]
