"""A helper that is replaced between calls: the new one is used."""

import torch

GRAPHS = 2


def first(x):
    return x + 1


def second(x):
    return x - 1


helper = first


def before(index):
    globals()["helper"] = second if index == 2 else first


def fn(x):
    return helper(x)


def calls():
    return [(torch.ones(2),)] * 4
