"""NumPy's numbers as attributes that change, one of a module that counts its calls."""

import numpy as np
import torch

# One for the first numbers, one for all others.
GRAPHS = 2
SNAPSHOT = False


class Settings:
    """What a call is made with."""

    def __init__(self, scale):
        self.scale = np.float64(scale)


class Model(torch.nn.Module):
    """A layer that is scaled by how often it was called."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 2)
        self.count = np.int64(0)

    def forward(self, x, a, settings):
        """Apply the layer, and count the call."""
        self.count += 1
        return self.layer(x) * self.count, a * settings.scale, self.count


def make():
    torch.manual_seed(0)
    return Model()


def calls():
    return [(torch.ones(2, 3), np.arange(3.0), Settings(n)) for n in (1, 2, 3, 4)]
