"""`torch.Tensor`, `torch.FloatTensor` and the like, of sizes and of numbers."""

import torch

GRAPHS = 1


def fn(x):
    kernel = torch.Tensor([[1, 0, -1], [2.5, 0, -2]])
    sizes = (
        torch.Tensor(2, 3).fill_(1),
        torch.Tensor(x.size()).zero_(),
        torch.DoubleTensor(2).zero_(),
    )
    numbers = torch.LongTensor([1, 2]), torch.FloatTensor((3, True)), torch.BoolTensor([1, 0])
    empty = torch.Tensor(), torch.Tensor([]), torch.Tensor([[], []]), torch.IntTensor([3])
    return x + kernel, sizes, numbers, empty, empty[0].shape


def inputs():
    return (torch.ones(2, 3),)
