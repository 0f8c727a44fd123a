"""A deque's own `__reversed__` does not ask for the length and the items that its class gives."""

import collections

import torch

GRAPHS = 1


class Window(collections.deque):
    def __len__(self):
        return 7

    def __getitem__(self, index):
        return index


def fn(x, window):
    y = x + 1
    return y, list(reversed(window)), list(window)


def inputs():
    return torch.ones(2), Window([5, 6])
