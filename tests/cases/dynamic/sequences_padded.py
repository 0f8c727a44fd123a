"""Padding to the longest of sequences whose lengths change: one graph while that one stays it."""

import torch
from torch.nn.utils.rnn import pad_sequence

SNAPSHOT = False
GRAPHS = 3
REFERENCE_GRAPHS = 5


def fn(x, y):
    rows = pad_sequence([x, y, x[1:]], batch_first=True, padding_value=-1.0)
    columns = pad_sequence([x, y], padding_side="left")
    return rows * 2, columns.shape[0], columns + 1


def calls():
    lengths = [(5, 3), (6, 4), (9, 2), (3, 8), (4, 9)]
    return [(torch.ones(n, 2), torch.zeros(m, 2)) for n, m in lengths]
