"""Numbers drawn by the operating system."""

import secrets

import torch


def fn(x):
    return x + secrets.randbelow(1)


def instead(x):
    return x + torch.randint(0, 1, ())


def inputs():
    return (torch.linspace(-1, 2, 4),)
