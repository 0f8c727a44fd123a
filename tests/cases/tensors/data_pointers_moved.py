"""A tensor that gets other memory has another address."""

import torch

GRAPHS = 2
BREAKS = [
    "Unsupported: Tensor.set_ behind Tensor.data_ptr",
    "Unsupported: a comparison of a tensor's address",
    "Addresses of two tensors that may share memory",
]

#: Guards hold addresses: which of them repeat depends on the memory of the process.
SNAPSHOT = False


def fn(x, y):
    made = x * 2
    first = made.data_ptr()
    made.set_(y)
    second = made.data_ptr()
    made.data = x
    return first == second, second == y.data_ptr(), made.data_ptr() == x.data_ptr(), made + 1


def inputs():
    return torch.rand(3), torch.rand(3)
