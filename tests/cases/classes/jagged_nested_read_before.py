"""What was read of a nested tensor before is with it, and decides how far its rows are padded."""

import torch

SNAPSHOT = False
BREAKS = ["Tensor subclass NestedTensor"]


def fn(x):
    return torch.nested.to_padded_tensor(x * 2, 0.5)


def jagged(*lengths):
    values = torch.arange(sum(lengths) * 4.0).view(-1, 4)
    offsets = torch.tensor([0, *lengths]).cumsum(0)
    x = torch.nested.nested_tensor_from_jagged(values, offsets)
    assert x._max_seqlen == max(lengths)
    return x


def calls():
    return [(jagged(2, 3),), (jagged(4, 3),)]
