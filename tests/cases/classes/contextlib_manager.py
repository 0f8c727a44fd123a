"""contextlib.contextmanager around tensor code."""

import contextlib

import torch

GRAPHS = 1


@contextlib.contextmanager
def scope(log):
    log.append("in")
    try:
        yield 3
    finally:
        log.append("out")


def fn(x, log):
    with scope(log) as k, contextlib.nullcontext():
        y = x * k
    return y + 1


def calls():
    return [(torch.ones(2), [])]
