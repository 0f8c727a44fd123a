"""A lock that each call takes is held where the program holds it."""

import threading

import torch

GRAPHS = 4
REFERENCE_GRAPHS = 0

LOCK = threading.RLock()
held = []


class Counter:
    count = 0

    def add(self):
        self.count += 1
        held.append(LOCK._is_owned())


counter = Counter()


def fn(x):
    x = x + 1
    with LOCK:
        counter.add()
        y = x * 2
    held.append(LOCK._is_owned())
    return y + counter.count


def calls():
    return [(torch.ones(2),)] * 3
