"""An instance of the caller's: attributes changed, added and deleted."""

import torch

GRAPHS = 1


class State:
    def __init__(self):
        self.count = 0
        self.total = torch.zeros(2)
        self.old = 1


def fn(s, x):
    s.count += 1
    s.total = s.total + x
    s.new = [s.count]
    del s.old
    return s.total * 2


def calls():
    return [(State(), torch.ones(2)), (State(), torch.ones(2))]
