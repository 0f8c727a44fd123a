"""What a module deletes and sets again comes last: attributes, parameters, buffers, modules."""

import torch

GRAPHS = 2


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.latents = None
        self.first = torch.nn.Linear(2, 2)
        self.second = torch.nn.Linear(2, 2)
        self.register_buffer("scale", torch.ones(2))
        self.register_buffer("shift", torch.ones(2))
        self.done = False

    def forward(self, x):
        del self.latents
        self.latents = None
        first, scale = self.first, self.scale
        del self.first, self.scale
        self.first = first
        self.register_buffer("scale", scale)
        y = self.second(self.first(x)) * scale
        self.done = True
        self.latents = y
        names = [name for name in vars(self) if not name.startswith("_")]
        return y, names, list(self.state_dict())


def make():
    return Net()


def inputs():
    return (torch.ones(2),)
