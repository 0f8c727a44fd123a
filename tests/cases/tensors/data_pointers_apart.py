"""Addresses of tensors that cannot share memory are compared in one graph."""

import torch

GRAPHS = 1


def fn(query, key):
    made = query + 1
    same = made.data_ptr() == key.data_ptr()
    return made * key, same, query.data_ptr() == key.data_ptr(), key.data_ptr() == key.data_ptr()


def calls():
    return [(torch.rand(3), torch.rand(3)), (torch.rand(3), torch.rand(3))]
