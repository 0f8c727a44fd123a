"""The date, read while the function runs."""

import datetime

import torch


def fn(x):
    return x * 2 if datetime.datetime.now().year > 2000 else x


IS_LATE = datetime.datetime.now().year > 2000


def instead(x):
    return x * 2 if IS_LATE else x


def inputs():
    return (torch.linspace(-1, 2, 4),)
