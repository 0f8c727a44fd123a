"""Changing ints that are written to attributes, containers and globals."""

import torch

GRAPHS = 2
total = 0


class Box:
    def __init__(self):
        self.n = 0
        self.seen = []


def fn(x, box, n):
    global total
    old = box.n
    box.n += n
    box.seen.append(box.n * 2)
    box.last = {"old": old, "new": (box.n, n)}
    total += box.n
    return x * box.n, total, old


def calls():
    x, box = torch.ones(2), Box()
    return [(x, box, n) for n in range(1, 12)]
