"""A lock, then a model in a loop: the model is captured in the first call."""

import threading

import torch

GRAPHS = 1
LOCK = threading.Lock()
layer = torch.nn.Linear(3, 3)
ready = []


def step(x):
    return torch.relu(layer(x)).detach() + 1


def fn(x):
    with LOCK:
        ready.append(len(ready))
    for _ in range(3):
        x = step(x)
    return x


def calls():
    return [(torch.ones(2, 3),)]
