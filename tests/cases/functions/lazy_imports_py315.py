"""Modules and names that are imported lazily, at the top of the module: the first use imports."""

lazy import colorsys
lazy import xml.dom.minidom as minidom
lazy from fractions import Fraction

import torch

GRAPHS = 1
BREAKS = ["Lazy import of colorsys"]


def fn(x):
    y = x * colorsys.rgb_to_hsv(0.5, 0.25, 0.125)[0]
    z = y + float(Fraction(1, 4))
    return z, minidom.Node.ELEMENT_NODE, colorsys


def inputs():
    return (torch.arange(3.0),)
