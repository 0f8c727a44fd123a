"""A tuple's hash is made of those of its items, whatever its class and whoever hashes them."""

import collections
import dataclasses

import torch

GRAPHS = 1
SNAPSHOT = False

Pair = collections.namedtuple("Pair", ["a", "b"])


@dataclasses.dataclass(frozen=True)
class Range:
    low: float
    high: float


@dataclasses.dataclass(frozen=True)
class Setting:
    within: Range
    steps: int


class Large:
    def __hash__(self):
        return 2**70 + 3


class Odd:
    def __hash__(self):
        return -1


def fn(x):
    setting = Setting(Range(0.5, 2.5), 4)
    kept = {setting: 2.0, Pair(1, 2): 3.0}
    x = x * kept[Setting(Range(0.5, 2.5), 4)] + kept[1, 2]
    hashes = [hash(Pair(1, "b")), hash((1, Pair(2, 3.5))), hash((Large(), Odd(), -1))]
    return x, hashes == [hash((1, "b")), hash((1, (2, 3.5))), hash((hash(Large()), -2, -2))]


def inputs():
    return (torch.randn(3),)
