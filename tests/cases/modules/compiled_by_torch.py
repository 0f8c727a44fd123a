"""A module that `torch.compile` has compiled is inlined, with its hooks and attributes."""

import torch

GRAPHS = 3
ALONE = True
SNAPSHOT = False
REFERENCE_WRONG = "hooks of the compiled module do not run"


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)
        self.dropout = torch.nn.Dropout(1.0)
        self.calls = 0

    def forward(self, x, k=1):
        self.calls += 1
        return self.dropout(self.layer(x)) * k


model = Model()
compiled = torch.compile(model, backend="eager")
layers = torch.nn.Sequential(torch.compile(torch.nn.Linear(3, 3), backend="eager"), torch.nn.ReLU())
seen = []


def before(index):
    compiled.train(index == 1)
    if index == 2:
        model.register_forward_hook(lambda module, args, result: seen.append("inner"))
        compiled.register_forward_hook(lambda module, args, result: seen.append("outer"))


def fn(x):
    compiled.limit = 3
    y = compiled(x, k=2)
    return y, layers(x), compiled.calls, model.limit, compiled.training, len(seen)


def calls():
    return [(torch.ones(2, 3),)] * 3
