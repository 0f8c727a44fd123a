"""Modules of the standard library that nothing has imported yet are imported while tracing."""

import json  # noqa: F401
import sys

import torch

GRAPHS = 1


def fn(x):
    import colorsys
    from json import scanner, tool  # noqa: F401

    red, _, _ = colorsys.hls_to_rgb(0.5, 0.5, 0.5)
    return x * red, tool.__name__


def inputs():
    for name in ("colorsys", "json.tool"):
        sys.modules.pop(name, None)
    vars(sys.modules["json"]).pop("tool", None)
    return (torch.ones(3),)
