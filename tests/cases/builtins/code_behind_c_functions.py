"""C functions that call back are not asked while tracing: the program's code runs when it would."""

import enum
import json
import math

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 0

FACTOR = 1
CALLS = []


def before(i):
    global FACTOR
    FACTOR = 4 if i else 9


class Scale(enum.Enum):
    ONE = 1

    def __float__(self):
        CALLS.append("float")
        return float(FACTOR)

    def __str__(self):
        CALLS.append("str")
        return f"scale {FACTOR}"

    @property
    def label(self):
        CALLS.append("label")
        return "label" * FACTOR


class Index(int):
    def __index__(self):
        raise AssertionError("an int is its own index")


class Meta(type):
    def __getitem__(cls, key):
        CALLS.append("item")
        return "x" * FACTOR


class Table(metaclass=Meta):
    pass


INDEX = Index(3)


def shown(value):
    CALLS.append("shown")
    return FACTOR


def fn(x):
    texts = (
        "{}".format(Scale.ONE),
        "{0.label}".format(Scale.ONE),
        json.dumps([torch.float32], default=shown),
        json.loads('{"a": 1}', object_hook=shown),
        "ab".translate(Table),
    )
    return x * math.sqrt(Scale.ONE), texts, "a" * INDEX, list(range(INDEX)), CALLS


def inputs():
    CALLS.clear()
    return (torch.ones(2),)
