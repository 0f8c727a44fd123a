"""What a thread-local object holds is read and written in the graph's function, and guarded."""

import threading

import torch

GRAPHS = 3
LOCAL = threading.local()


class Scaled(torch.nn.Module):
    def forward(self, x, set_to):
        y = torch.sin(x) * LOCAL.scale
        if set_to is not None:
            LOCAL.scale = set_to
            y = y + LOCAL.scale
        try:
            return y, LOCAL.missing
        except AttributeError as error:
            return y, LOCAL.bias, str(error)


def make():
    LOCAL.scale, LOCAL.bias = 2, torch.ones(2)
    return Scaled()


def calls():
    return [(torch.ones(2), set_to) for set_to in (None, None, 3, None)]
