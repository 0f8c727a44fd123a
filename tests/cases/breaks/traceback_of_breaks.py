"""The frames that a traceback names, where the graph broke on the way."""

import traceback

import torch

GRAPHS = 3
REFERENCE_GRAPHS = 1


@torch.compiler.disable
def say(*args, **options):
    print(*args, **options)


def wrapper(f, *args, **kwargs):
    return f(*args, **kwargs)


def raises(x):
    y = x + 1
    say("before")
    y = y * 2
    raise KeyError("k")


def frames(error):
    return [(f.name, f.lineno) for f in traceback.extract_tb(error.__traceback__)][-3:]


def fn(x):
    for _ in range(3):
        x = x * 2
        say("loop")
    try:
        return wrapper(raises, x)
    except KeyError as error:
        say(frames(error))
        try:
            raise ValueError("v")
        except ValueError as second:
            say(frames(second), second.__context__ is error)
    return x + 1


def inputs():
    return (torch.ones(2),)
