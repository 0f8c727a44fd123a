"""What is set up once, under a lock: the first call is plain Python, the others find it done."""

import threading

import torch

GRAPHS = 1
LOCK = threading.Lock()
table = {}


def fn(x):
    if "scale" not in table:
        with LOCK:
            if "scale" not in table:
                assert LOCK.locked()
                table["scale"] = 3.0
    return x * table["scale"]


def inputs():
    return (torch.ones(2),)
