"""Graph breaks within a device: it is entered again, and left, by what goes on."""

import torch

GRAPHS = 4
REFERENCE_GRAPHS = 1
BYTECODE = True
BACKWARD = False


def parts(x):
    print(x.shape)
    return torch.ones(2)


def fn(x):
    with torch.device("meta"):
        before = torch.ones(3)
        inside = parts(x + 1)
        torch._dynamo.graph_break()
        with torch.device("cpu"):
            torch._dynamo.graph_break()
            inner = torch.rand(2)
        behind = torch.rand(2)
    torch._dynamo.graph_break()
    return before, inside, inner, behind, torch.ones(1) + x


def inputs():
    return (torch.randn(2),)
