"""`sys.intern` of a text that nobody interned gives the text itself."""

import sys
import time

import torch

GRAPHS = 1
SNAPSHOT = False


def fn(x):
    y = x + 1
    text = "never interned before " + str(time.perf_counter_ns())
    found = sys.intern(text)
    return y, found is text, sys.intern("known") is sys.intern("known")


def inputs():
    return (torch.ones(2),)
