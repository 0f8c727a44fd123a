"""A break inside a method; the instance's state crosses it."""

import io

import torch

GRAPHS = 3


class M:
    def __init__(self):
        self.n = 0

    def step(self, x):
        self.n += 1
        torch.save(x, io.BytesIO())
        self.n += 10
        return x * self.n


def fn(m, x):
    y = m.step(x)
    return m.step(y) + m.n


def calls():
    return [(M(), torch.ones(2)), (M(), torch.ones(2))]
