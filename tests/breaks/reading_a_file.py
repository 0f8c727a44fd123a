"""Reading or writing a file."""

import torch


def fn(x):
    with open(__file__) as file:
        title = file.readline()
    return x * len(title)


with open(__file__) as _file:
    TITLE = _file.readline()


def instead(x):
    return x * len(TITLE)


def inputs():
    return (torch.linspace(-1, 2, 4),)
