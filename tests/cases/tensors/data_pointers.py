"""Addresses of tensors compared: attention asks whether query, key and value are one tensor."""

import torch

GRAPHS = 10
BREAKS = [
    "Unsupported: a comparison of a tensor's address",
    "Addresses of two tensors that may share memory",
]

#: What breaks has addresses for ints: which of them repeat depends on the memory of the process.
SNAPSHOT = False

x = torch.arange(12.0).reshape(3, 4)


def attention(query, key, value):
    same = query.data_ptr() == key.data_ptr() == value.data_ptr()
    pair = key.data_ptr() == value.data_ptr()
    return query + key * 2 - value, same, pair


def fn(query, key, value):
    made = query * 2
    first = made.data_ptr()
    outside = attention(query, key, value)
    inside = attention(made, made, made)
    mixed = attention(made, key, key)
    return outside, inside, mixed, first == made.data_ptr(), first != key.data_ptr(), first == 5


def calls():
    y, z = x + 1, x + 2
    both = torch.stack([y, z])
    empty = x[:0]
    return [
        (x, x, x),
        (x, y, y),
        (x, y, z),
        (x, both[0], both[1]),
        (x, both[0], both[0]),
        (x, both[0], both[0].view(3, 4)),
        (empty, empty + 1, empty),
        (x, y, z),
    ]
