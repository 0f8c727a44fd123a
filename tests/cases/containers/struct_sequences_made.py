"""A struct sequence is made of its items; more items, or a dictionary, fill fields that are no items."""

import os
import time

import torch

GRAPHS = 1
SNAPSHOT = False


def fields(r):
    return r.st_mode, r.st_size, r.st_atime, r.st_mtime, r.st_atime_ns, len(r)


def fn(x):
    y = x + 1
    out = [
        fields(os.stat_result(range(10), {"st_atime": -1.0, "st_atime_ns": 5})),
        fields(os.stat_result(tuple(range(16)))),
        fields(os.stat_result(sequence=list(range(10)))),
    ]
    for items in (range(8), range(30)):
        try:
            time.struct_time(items)
        except TypeError as e:
            out.append(str(e))
    moment = time.struct_time(range(9))
    return y, moment, out


def inputs():
    return (torch.ones(2),)
