"""Batches of several sizes in training: parameters keep theirs."""

import torch

GRAPHS = 2


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(4, 8)
        self.b = torch.nn.Linear(8, 3)

    def forward(self, x):
        return self.b(torch.relu(self.a(x))).log_softmax(-1).sum() / x.shape[0]


def make():
    torch.manual_seed(0)
    return Model()


def calls():
    return [(torch.ones(n, 4, requires_grad=True),) for n in [5, 7, 3, 9]]


COMPILED_WRONG = "backward is called twice on one graph, whose buffers AOTAutograd has given away"
