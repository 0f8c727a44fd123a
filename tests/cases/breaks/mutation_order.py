"""List appends before, at and after a break happen once and in order."""

import sys

import torch

GRAPHS = 2
BYTECODE = True


def fn(x, log):
    log.append(1)
    y = x + 1
    log.append(y)
    sys.stdout.write(f"{len(log)}\n")
    log.append(2)
    z = y * 2
    log.append(z)
    return z


def calls():
    return [(torch.ones(2), []), (torch.ones(2), [])]
