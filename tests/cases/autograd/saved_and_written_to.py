"""What an operation saved is written to: wrong only where somebody calls `backward`."""

import torch

SNAPSHOT = False
GRAPHS = 2
REFERENCE_GRAPHS = 3
BACKWARD = False


class Clipped(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(3, 3)

    def forward(self, x):
        y = torch.relu(self.inner(x))
        y[y > 0.5] = 0.5
        return y, y * y


def make():
    torch.manual_seed(0)
    return Clipped()


def calls():
    return [(torch.ones(n, 3),) for n in (2, 3, 4)]
