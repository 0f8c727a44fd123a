"""A module that plain Python makes anew in each call: what follows is compiled once."""

import torch

GRAPHS = 2
BYTECODE = True


@torch.compiler.disable
def made(scale):
    layer = torch.nn.Linear(3, 3)
    with torch.no_grad():
        layer.weight.fill_(scale)
        layer.bias.fill_(1)
    return layer


def fn(x, scale):
    x = torch.sin(x)
    return made(scale)(x) * 2


def calls():
    return [
        (torch.ones(2, 3), scale)
        for scale in (torch.tensor(1.0), torch.tensor(2.0), torch.tensor(3.0))
    ]
