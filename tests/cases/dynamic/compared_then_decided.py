"""What a comparison of numbers that change says decides later, in another function, or behind a break."""

import torch

GRAPHS = 7
REFERENCE_GRAPHS = 11


def chosen(x, flag):
    return x + 1 if flag else x - 1


def fn(x, n, f):
    is_more = n > 4
    is_less = not f > 0.5
    y = chosen(x, is_more)
    torch._dynamo.graph_break()
    if is_less and not is_more:
        return y * 2
    return y * n, [1, 2][is_more], f"{is_more} {is_less}"


def calls():
    numbers = [(3, 0.25), (7, 0.75), (2, 0.6), (9, 0.1), (4, 0.5), (5, float("nan"))]
    return [(torch.ones(3), n, f) for n, f in numbers]
