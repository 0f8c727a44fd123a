"""A tensor of a known number that was written to is asked for what it holds."""

import torch

GRAPHS = 1


def fn(x):
    scale, step = torch.tensor(0.5), torch.tensor(0.0)
    scale.mul_(2)
    y = x * scale.item()
    step += 1
    return y * step.item(), scale + step


def inputs():
    return (torch.ones(3),)


BACKWARD = False
