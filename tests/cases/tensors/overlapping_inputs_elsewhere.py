"""Inputs that share memory, one of which is written to: where each begins in it may change."""

import torch

GRAPHS = 2


def fn(a, b, c):
    return a.mul_(2).sum(), b + 1, c * a


def one_place():
    t = torch.ones(2)
    return t, t.view(2), t[:]


def next_to_each_other():
    t = torch.ones(4)
    return t[:2], t[1:3], t[2:]


def interleaved():
    t = torch.ones(4)
    return t[::2], t[1::2], torch.ones(2)


def calls():
    return [one_place(), next_to_each_other(), interleaved(), one_place()]


BACKWARD = False
SNAPSHOT = False
