"""Modules and parameters made in the compiled function, and their random initialization."""

import torch
from torch import nn
from torch._dynamo.mutation_guard import install_generation_tagging_init

# torch.compile does so once in a process; `Module.__init__` is then the same in any order of tests.
install_generation_tagging_init()

GRAPHS = 1
# It makes parameters outside of the graph.
REFERENCE_GRAPHS = 2


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.full((width,), 2.0))
        self.frozen = nn.Parameter(torch.arange(width), requires_grad=False)
        self.register_buffer("shift", torch.ones(width))
        self.layers = nn.ModuleList([nn.Linear(width, width), nn.ReLU()])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x * self.scale + self.shift + self.frozen


def fn(x):
    block = Block(4)
    names = [(n, p.requires_grad, p.is_leaf, p.grad_fn) for n, p in block.named_parameters()]
    free = nn.Parameter(x.detach().sum(0))
    y = nn.Sequential(nn.Conv1d(3, 2, 1), nn.BatchNorm1d(2))(x[None])
    kind = isinstance(free, nn.Parameter), type(free) is torch.Tensor, free.requires_grad
    return block(x) * free, names, y, free, kind, block


def inputs():
    return (torch.randn(3, 4, requires_grad=True),)


COMPILED_WRONG = "AOTAutograd adds gradients in another order: the last digit differs"
