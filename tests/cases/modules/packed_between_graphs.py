"""What packs a sequence, and recurrent modules over packed ones, are between two graphs."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

GRAPHS = 2


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(10, 4)
        self.recurrent = nn.LSTM(4, 3, batch_first=True, bidirectional=True)
        self.head = nn.Linear(6, 2)

    def forward(self, words, lengths):
        embedded = self.embedding(words) * 2
        packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        hidden, (last, _) = self.recurrent(packed)
        hidden, sizes = pad_packed_sequence(hidden, batch_first=True)
        return self.head(hidden).relu(), last + 1, sizes


torch.manual_seed(0)
tagger = Tagger()


def fn(words, lengths):
    return tagger(words, lengths)


def calls():
    words = torch.arange(12).reshape(3, 4) % 10
    return [(words, torch.tensor([2, 4, 1])), (words, torch.tensor([4, 4, 3]))]
