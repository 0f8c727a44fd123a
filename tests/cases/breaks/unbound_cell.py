"""A cell variable without a value, read behind a break."""

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 1


@torch.compiler.disable
def say(*args, **options):
    print(*args, **options)


def fn(x):
    if x is None:
        late = 1

    def inner():
        return late

    y = x + 1
    say("break")
    try:
        y = y + late
    except UnboundLocalError as error:
        say(error)
        y = y * 2
    try:
        y = y + inner()
    except NameError as error:
        say(type(error).__name__, error)
    return y + late


def inputs():
    return (torch.ones(2),)
