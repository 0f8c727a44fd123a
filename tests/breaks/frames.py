"""Looking at the frames that run."""

import sys

import torch


def fn(x):
    name = sys._getframe().f_code.co_name
    return x * len(name)


def instead(x, name="fn"):
    return x * len(name)


def inputs():
    return (torch.linspace(-1, 2, 4),)
