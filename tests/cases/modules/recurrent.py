"""nn.LSTM, nn.GRU and nn.RNN are captured whole: their weak references are looked through."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 5, num_layers=2, bidirectional=True, batch_first=True)
        self.gru = nn.GRU(10, 4, batch_first=True)
        self.rnn = nn.RNN(4, 3, nonlinearity="relu")
        self.projected = nn.LSTM(3, 6, proj_size=2)

    def forward(self, x):
        y, (h, c) = self.lstm(x)
        y, g = self.gru(y, torch.zeros(1, x.shape[0], 4))
        y, r = self.rnn(y)
        y, state = self.projected(y[0])
        return y, h, c, g, r, state


def make():
    return Model()


def inputs():
    return (torch.randn(3, 7, 6),)


GRAPHS = 1
REFERENCE_GRAPHS = 5
SNAPSHOT = False
