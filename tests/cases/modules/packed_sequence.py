"""Packed sequences through a recurrent module: right, with or without graph breaks."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

GRAPHS = 0
BREAKS = [
    "Packed sequence in pack_padded_sequence",
    "Packed sequence in a recurrent module",
    "Packed sequence in pad_packed_sequence",
]

lstm = nn.LSTM(4, 3, batch_first=True)
gru = nn.GRU(4, 3, batch_first=True, bidirectional=True)


def fn(x, lengths):
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    y, (h, c) = lstm(packed)
    y, sizes = pad_packed_sequence(y, batch_first=True, total_length=x.shape[1])
    z, g = gru(packed)
    return y, sizes, h, c, z.data, z.batch_sizes, g


def inputs():
    return (torch.randn(3, 6, 4), torch.tensor([4, 6, 2]))


SNAPSHOT = False
