"""A region that is to be compiled once, called more than once; made and nested in the function."""

import torch

GRAPHS = 1
REFERENCE_WRONG = "refuses a region that gives a view of what it writes to"
BACKWARD = True
SNAPSHOT = False

region = torch.compiler.nested_compile_region
shift = torch.full((3,), 0.5)


@region
def scaled(a, b, *, by=2):
    return a * b * by, {"parts": [(a - b).sin() + shift]}


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    @region
    def forward(self, x):
        return self.layer(x).relu() + x


blocks = [Block(), Block()]


def fn(x, w):
    first, more = scaled(x, w, by=3)
    second, _ = scaled(first, w, by=3)
    kept = x.cos()

    @region
    def around(a):
        for block in blocks:
            a = block(a)
        return a * kept

    made = around(x) + around(second)

    @region
    def writes(a):
        a.add_(1)
        return a.view(-1)

    y = x.detach().clone()
    return made, more["parts"], writes(y), y


def inputs():
    return torch.ones(2, 3, requires_grad=True), torch.full((3,), 0.25, requires_grad=True)
