"""Sequential with activations; indexing and length of it in a function."""

import torch

GRAPHS = 1
# Once torch.compile was used in the process, torch makes modules in another way.
SNAPSHOT = False


def make():
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))

    def run(x):
        return net(x), net[0](x), len(net), net[:2](x)

    return run


def inputs():
    return (torch.randn(2, 3),)
