"""Contexts that choose no stream and no device of an accelerator do nothing."""

import torch

SNAPSHOT = False
GRAPHS = 1
stream = torch.Stream(device="cpu")


def fn(x):
    with torch.cuda.stream(None) as chosen:
        y = x + 1
    with torch.cuda.device(-1):
        y = y * 2
    with stream as entered:
        y = y - 3
    with torch.cpu.stream(None):
        y = y * 4
    return y, chosen, entered is stream


def inputs():
    return (torch.ones(3),)
