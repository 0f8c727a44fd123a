"""Context variables: what one holds is guarded, setting one is plain Python."""

import contextvars

import torch

GRAPHS = 4
SCALE = contextvars.ContextVar("scale", default=2.0)
MODE = contextvars.ContextVar("mode")


def fn(x, set_to):
    y = torch.sin(x) * SCALE.get()
    if MODE.get(None) == "shift":
        y = y + 1
    if set_to is not None:
        token = MODE.set(set_to)
        y = y * len(MODE.get())
        MODE.reset(token)
    return y


def before(index):
    SCALE.set(3.0 if index > 2 else 2.0)


def calls():
    return [
        (torch.ones(2), None),
        (torch.ones(2), None),
        (torch.ones(2), "shift"),
        (torch.ones(2), None),
    ]
