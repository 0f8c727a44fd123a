"""What a float is compared with is guarded, not the float: one graph for all values on one side."""

import torch

GRAPHS = 3


class Settings:
    scale = 1.0


def fn(x, s, settings):
    if s > 0.5:
        x = x * s
    if settings.scale != 1.0:
        x = x + settings.scale
    if not s:
        x = x - 100
    return x, 2 >= s, max(s, 0.125)


def calls():
    first, second = Settings(), Settings()
    second.scale = 3.0
    values = [0.75, 1.0, 1.5, 2.0, 0.25, 0.375, 0.5]
    return [(torch.ones(3), s, first) for s in values] + [
        (torch.ones(3), s, second) for s in [0.25, 0.5]
    ]
