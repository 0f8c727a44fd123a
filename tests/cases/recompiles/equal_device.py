"""Devices are compared by value: an equal one is no reason to compile anew."""

import torch

GRAPHS = 2


class Holder:
    def __init__(self, device):
        self.device = device


def fn(x, holder):
    return x + torch.ones(2, device=holder.device), holder.device.type


def calls():
    return [
        (torch.ones(2), Holder(torch.device("cpu"))),
        (torch.ones(2), Holder(torch.device("cpu"))),
        (torch.ones(2), Holder("cpu")),
    ]
