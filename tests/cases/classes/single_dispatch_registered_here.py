"""Implementations that are registered in the compiled function count at once."""

import functools
from collections.abc import Mapping

import torch

GRAPHS = 1
REFERENCE_GRAPHS = 0


def fn(x):
    @functools.singledispatch
    def kind(o):
        return "base"

    kinds = [kind({}), kind([])]
    kind.register(Mapping, lambda o: "mapping")
    kinds += [kind({}), kind([])]
    kind.register(dict, lambda o: "dict")
    kinds += [kind({}), kind([])]

    @kind.register(list)
    def of_list(o):
        return "list"

    kinds += [kind({}), kind([]), kind.dispatch(list) is of_list]
    return x + 1, kinds


def calls():
    return [(torch.ones(2),) for _ in range(2)]
