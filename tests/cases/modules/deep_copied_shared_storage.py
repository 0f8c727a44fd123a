"""Deep copies of buffers that are views of one storage stay views of one storage."""

import copy

import torch

GRAPHS = 1
BREAKS = ["Deep copy of a tensor"]

# Guards list the keys of copyreg's table, to which the process adds what it imports.
SNAPSHOT = False


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        both = torch.arange(4.0)
        self.register_buffer("left", both[:2])
        self.register_buffer("right", both[1:])

    def forward(self, x):
        copied = copy.deepcopy(self)
        copied.left.add_(10)
        return copied.right * x, self.right + 1


def make():
    return Net()


def inputs():
    return (torch.tensor(2.0),)
