"""Exceptions raised and caught while tracing."""

import torch

GRAPHS = 1


def fn(x):
    try:
        raise ValueError("v")
    except (KeyError, ValueError) as e:
        x = x + 1
        text = str(e)
    try:
        {}["k"]
    except KeyError:
        x = x * 2
    else:
        x = x * 100
    try:
        x = x - 1
    except ValueError:
        x = x * 1000
    else:
        x = x + 3
    finally:
        x = x + 5
    return x, text


def inputs():
    return (torch.ones(2),)
