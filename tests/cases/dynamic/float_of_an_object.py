"""A running mean that an object holds: each call reads it, and writes another one."""

import torch

GRAPHS = 2


class Mean:
    def __init__(self):
        self.value = 1.0

    def step(self, x, new):
        self.value = 0.5 * self.value + 0.5 * new
        return x * self.value


def fn(x, new, mean):
    return mean.step(x, new), mean.value


def calls():
    mean = Mean()
    return [(torch.ones(3), float(n), mean) for n in range(2, 8)]
