"""Attributes that are set on functions are set after the graph."""

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 4


def counted(function):
    def wrapper(*args):
        wrapper.calls += 1
        wrapper.last = args[0]
        return function(*args)

    wrapper.calls = 0
    return wrapper


@counted
def plus(x):
    return x + 1


@counted
def minus(x):
    return x - 1


def helper(x):
    helper.calls = getattr(helper, "calls", 0) + 1
    return x * helper.calls


helper.calls = 0


def fn(x):
    y = minus(plus(plus(x)))
    assert plus.last is not x
    setattr(plus, "name", "plus")
    return helper(y), plus.calls, plus.name, hasattr(minus, "name")


def before(index):
    if index == 2:
        plus.__dict__ = {"calls": 10}


def calls():
    return [(torch.ones(2),)] * 4
