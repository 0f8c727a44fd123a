"""Enum members that are numbers or text, as operands and arguments of tensor operations."""

import enum

import torch

GRAPHS = 1


class Axis(enum.IntEnum):
    ROWS = 0
    COLUMNS = 1


class Bits(enum.IntFlag):
    LOW = 1
    HIGH = 2


class Rounding(str, enum.Enum):
    FLOOR = "floor"


def fn(x, axis=Axis.COLUMNS):
    y = x.sum(axis) + Axis.COLUMNS * 2
    z = torch.cat([x, x * Bits.HIGH], dim=Axis.ROWS)
    return y, z, x[axis], torch.div(x, 2, rounding_mode=Rounding.FLOOR), Axis.COLUMNS + x


def inputs():
    return (torch.arange(6.0).reshape(2, 3),)
