"""`torch._check_tensor_all` is checked by the graph, and a handler takes its error."""

import torch

GRAPHS = 1


def fn(x, limit):
    y = x + 1
    torch._check_tensor_all(y > limit)
    try:
        torch._check_tensor_all(y < 10)
        said = None
    except RuntimeError as e:
        said = str(e)
    return y * 2, said


def calls():
    return [(torch.ones(2), 0), (torch.full((2,), 20.0), 0)]
