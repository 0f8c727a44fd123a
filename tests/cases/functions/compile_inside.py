"""What is compiled inside is inlined where it is called, and made where Python gets it."""

import ferrodyn
import torch

GRAPHS = 1
REFERENCE_WRONG = "gives the function itself in place of one that is compiled"
ALONE = True

SNAPSHOT = False

kept = []


def twice(x):
    return x * 2


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x).relu()


model = Model()


def fn(x):
    own = ferrodyn.compile(twice, backend="eager")
    by_torch = torch.compile(lambda y: y + x, backend="eager")
    module = torch.compile(model, backend="eager")
    method = ferrodyn.compile(model.forward, backend="eager", fullgraph=True)

    @torch.compile(backend="eager")
    def decorated(y):
        return y - x

    assert own is not twice
    assert isinstance(by_torch, type(twice))
    assert isinstance(module, torch.nn.Module)
    kept.append((decorated, by_torch, module))
    return decorated(by_torch(own(x))), module(x), method(x), {own: 1}[own]


def inputs():
    return (torch.ones(2, 3),)
