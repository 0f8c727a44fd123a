"""`torch.get_default_device()`: what was entered, what was set, or the CPU."""

import torch

GRAPHS = 2
BACKWARD = False


def fn(x):
    outside = torch.get_default_device()
    with torch.device("meta"):
        inside = torch.get_default_device()
    return x + 1, outside, inside


def calls():
    return [(torch.randn(2),) for _ in range(4)]


def before(index):
    torch.set_default_device("cpu:0" if index in (1, 2) else None)
