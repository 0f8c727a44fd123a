"""`associative_scan`: its operator runs in eager mode, where torch compiles the whole call."""

import torch
from torch._higher_order_ops.associative_scan import associative_scan

BREAKS = ["Attempted to call function marked as skipped"]
SNAPSHOT = False
ALONE = True


def fn(x):
    summed = associative_scan(lambda a, b: a + b, x, 0, combine_mode="generic")
    return associative_scan(lambda a, b: a * b, summed, 0) + 1


def inputs():
    return (torch.arange(1.0, 5.0),)
