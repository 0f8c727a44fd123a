"""A value that an enum does not have, for which the program's `_missing_` answers."""

import enum

import torch

GRAPHS = 1
SNAPSHOT = False
REFERENCE_WRONG = "an error of its own where the enum refuses a value"


class Mode(enum.Enum):
    SUM = "sum"
    MEAN = "mean"

    @classmethod
    def _missing_(cls, value):
        for member in cls:
            if isinstance(value, str) and member.value == value.lower():
                return member
        return cls.SUM if value == 0 else None


def fn(x):
    loud, zero = Mode("MEAN"), Mode(0)
    try:
        Mode("max")
    except ValueError:
        x = x + 1
    return x * 2 if loud is Mode.MEAN else x, zero.value, loud is Mode("mean")


def inputs():
    return (torch.ones(2),)
