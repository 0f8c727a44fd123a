"""A module that makes its layers and parameters when it is first called has them afterwards."""

import torch
from torch import nn
from torch._dynamo.mutation_guard import install_generation_tagging_init

GRAPHS = 2
REFERENCE_GRAPHS = 5

# torch.compile does so once in a process; `Module.__init__` is then the same in any order of tests.
install_generation_tagging_init()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = None
        self.bias = None

    def forward(self, x):
        if self.layer is None:
            self.layer = nn.Linear(x.shape[-1], 2)
        if not hasattr(self, "gain"):
            self.gain = nn.Parameter(torch.ones(2))
            self.register_parameter("offset", nn.Parameter(torch.zeros(2)))
        return self.layer(x) * self.gain + self.offset


def make():
    return Net()


def calls():
    return [(torch.randn(3, 4),), (torch.randn(2, 4),), (torch.randn(3, 4),)]
