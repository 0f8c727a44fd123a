"""The length of the longest row is read of the data where nobody has read it before."""

import torch

BREAKS = ["attribute `_max_seqlen` of a tensor subclass, which only a real tensor has"]
SNAPSHOT = False


def fn(x):
    return (x * x._max_seqlen).values()


def calls():
    make = torch.nested.nested_tensor_from_jagged
    offsets = torch.tensor([0, 2, 5, 9])
    return [(make(torch.arange(36.0).view(9, 4), offsets.clone()),) for _ in range(2)]
