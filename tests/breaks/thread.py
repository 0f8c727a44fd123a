"""A thread that is started in the compiled function."""

import threading

import torch


def fn(x):
    y = x.sin()
    thread = threading.Thread(target=print, kwargs={"end": ""})
    thread.start()
    thread.join()
    return y * 2


def instead(x):
    # Start it around the call of the compiled function.
    return x.sin() * 2


def inputs():
    return (torch.linspace(-1, 2, 4),)
