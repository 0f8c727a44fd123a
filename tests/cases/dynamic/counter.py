"""A counter of a module: its second value makes it an input of the graph."""

import torch

GRAPHS = 2
# Ints of modules are constants there.
REFERENCE_GRAPHS = 8


class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.step = 0

    def forward(self, x):
        self.step += 1
        return x * self.step, self.step


def make():
    return Counting()


def calls():
    return [(torch.ones(3),)] * 20
