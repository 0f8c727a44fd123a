"""A global that is deleted and set again comes last; one that is set and deleted is gone."""

import torch

GRAPHS = 1

first = 1
second = 2
#: the order in which the globals were before each call
ORDER = []


def fn(x):
    global first, third
    del first
    first = x + 1
    third = 3
    del third
    return x * 2


def before(call):
    ORDER.append([name for name in globals() if name in ("first", "second", "third")])
    if call == 1:
        globals().update(third=1)


def calls():
    return [(torch.ones(2),), (torch.ones(2),), (torch.ones(2),)]
