"""Another key, another value, other tensors in a dictionary that never changes: guards tell."""

import torch

GRAPHS = 3


def fn(x, given):
    y = x
    for key, value in given.items():
        y = y + value if key == "w" else y * 2
    return y, given


def calls():
    x = torch.arange(3.0)
    return [
        (x, frozendict(w=torch.ones(3))),
        (x, frozendict(w=torch.zeros(3))),
        (x, frozendict(w=torch.zeros(3), n=1)),
        (x, {"w": torch.ones(3)}),
    ]
