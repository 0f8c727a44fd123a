"""An attribute is changed for a while and gets back what it held, or a constant that it held."""

import torch

GRAPHS = 3
REFERENCE_GRAPHS = 4


class Mode:
    def __init__(self, kept, flag):
        self.kept = kept
        self.flag = flag
        self.unread = flag


def fn(mode, x):
    kept = mode.kept
    mode.kept = "other"
    was_set = mode.flag is not None
    mode.flag = True
    mode.unread = 1
    y = x + len(mode.kept)
    mode.kept = kept
    mode.flag = None
    mode.unread = None
    return y * 2 if was_set else y


def calls():
    return [
        (Mode("a", None), torch.ones(2)),
        (Mode([1], None), torch.ones(2)),
        (Mode("a", False), torch.ones(2)),
        (Mode(None, 3), torch.ones(2)),
    ]
