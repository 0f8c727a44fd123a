"""A break inside try, with an exception after it."""

import sys

import torch

GRAPHS = 4
REFERENCE_GRAPHS = 0
BYTECODE = True


def fn(x, fail):
    y = x + 1
    try:
        sys.stdout.write("trying\n")
        if fail:
            raise ValueError("no")
        y = y * 2
    except ValueError as e:
        y = y - 1
        sys.stdout.write(f"{e}\n")
    finally:
        y = y + 100
    return y


def calls():
    return [(torch.ones(2), False), (torch.ones(2), True)]
