"""Locals of every kind cross a break: unset, deleted, cells, constants, containers."""

import sys

import torch

GRAPHS = 4
BYTECODE = True


def fn(x, flag):
    a = [x + 1]
    b = {"k": a}
    c = 5
    d = x * 2
    del d
    e = lambda v: v + c
    if flag:
        unset = 1
    sys.stdout.write("break\n")
    a.append(e(x))
    c = 6
    b["k"].append(e(x))
    return a, b, flag and unset


def calls():
    return [(torch.ones(2), True), (torch.ones(2), False)]
