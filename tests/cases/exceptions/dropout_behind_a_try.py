"""Dropout that is off draws nothing: behind what may raise to a handler it can run again."""

import torch

GRAPHS = 1
SNAPSHOT = False
REFERENCE_WRONG = "torch raises what the operation raises, past the handler"


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(5, 3)
        self.activation = torch.nn.ReLU(inplace=False)
        self.dropout = torch.nn.Dropout(0.5)
        self.gru = torch.nn.GRU(3, 2, num_layers=2, dropout=0.0)

    def forward(self, x):
        try:
            rows = self.table(x)
        except IndexError as error:
            raise ValueError(f"{len(x)} rows") from error
        return self.gru(self.dropout(self.activation(rows)))[0]


net = Net().eval()


def fn(x):
    return net(x)


def calls():
    return [(torch.tensor([0, 4, 2]),), (torch.tensor([1, 9, 2]),), (torch.tensor([1, 1, 2]),)]
