"""What `min` and `max` of tensors give is written to, or asked who it is: the graph ends there."""

import torch

BREAKS = ["Tensor that is one of several is written to", "Identity of two tensors"]
REFERENCE_WRONG = "it writes to another tensor"
SNAPSHOT = False


def fn(x, y):
    first, second = x.sum(), y.sum()
    larger = max(first, second)
    larger.add_(1)
    least = min(x[0], y[0])
    is_first = least is x
    x.add_(10)
    return first, second, least * 2, is_first, min(x[1:2], y[1:2]).view(1, 1)


def inputs():
    return calls()[0]


def calls():
    x, y = torch.tensor([1.0, 5, 2]), torch.tensor([2.0, 3, 1])
    return [(x.clone(), y.clone()), (y.clone(), x.clone())]
