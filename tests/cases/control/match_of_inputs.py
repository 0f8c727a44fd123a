"""What a pattern looked at is guarded."""

import torch

GRAPHS = 4


class Layer:
    __match_args__ = ("kind", "size")

    def __init__(self, kind, size):
        self.kind = kind
        self.size = size


def fn(x, layer, options):
    match layer:
        case Layer("linear", n):
            x = x * n
        case Layer(size=3):
            x = x + 3
        case _:
            x = x - 1
    match options:
        case {"scale": s}:
            x = x * s
    return x


def calls():
    x = torch.ones(2)
    first = (x, Layer("linear", 2), {"scale": 2})
    return [
        first,
        first,
        (x, Layer("linear", 3), {"scale": 2}),
        (x, Layer("act", 3), {"scale": 2}),
        (x, Layer("act", 3), {"other": 2}),
    ]
