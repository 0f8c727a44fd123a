"""A module that the function takes out of `sys.modules` is imported anew."""

import colorsys
import sys

import torch

BREAKS = ["sys.modules"]
SNAPSHOT = False


def fn(x):
    y = x + 1
    before = sys.modules["colorsys"]
    del sys.modules["colorsys"]
    import colorsys as again

    sys.modules["colorsys"] = colorsys
    import colorsys as back

    return y * 2, before is colorsys, again is colorsys, back is colorsys


def inputs():
    return (torch.ones(2),)
