"""Enum members: compared, looked up, as keys."""

import enum

import torch

GRAPHS = 2


class Mode(enum.Enum):
    FAST = 1
    SLOW = "s"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 5


TABLE = {Mode.FAST: 2, Mode.SLOW: 3}


def fn(x, mode):
    if mode is Mode.FAST:
        x = x + 1
    return (
        x * TABLE[mode],
        mode.name,
        mode.value,
        Level.HIGH > 3,
        Mode("s"),
        Level.LOW + 1,
        mode == Mode.SLOW,
    )


def calls():
    return [(torch.ones(2), Mode.FAST), (torch.ones(2), Mode.SLOW), (torch.ones(2), Mode.FAST)]
