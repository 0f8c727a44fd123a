"""`re.DEBUG` prints on each call: such a pattern is not kept."""

import re

import torch

GRAPHS = 1
BREAKS = ["`re.DEBUG`, which prints"]
# Its guards say which combinations of flags the process has made before, in their order.
SNAPSHOT = False


def fn(x):
    return x + 1, re.compile("a|b", re.DEBUG | re.ASCII).pattern


def calls():
    return [(torch.ones(2),) for _ in range(2)]
