"""An `itertools.accumulate` whose total is None stands where it is, given back or copied."""

import copy
import itertools
import operator

import torch

GRAPHS = 1
REFERENCE_GRAPHS = 0


def fn(x):
    it = itertools.accumulate([None, None, None], operator.is_)
    first = next(it)
    return x + 1, first, list(copy.copy(it)), list(it)


def inputs():
    return (torch.ones(3),)
