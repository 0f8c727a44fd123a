"""A global written before a break is seen by the code that runs plainly."""

import sys

import torch

GRAPHS = 2

state = {"n": 0}
level = 0


def show():
    sys.stdout.write(f"{state['n']} {level}\n")


def fn(x):
    global level
    state["n"] = 5
    level = 7
    y = x + 1
    show()
    level += 1
    return y * level


def inputs():
    return (torch.ones(2),)
