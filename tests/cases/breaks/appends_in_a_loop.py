"""A list that grows in a loop that breaks: its items are not looked at, so nothing recompiles."""

import torch

GRAPHS = 1


@torch.compiler.disable
def say(*args):
    print(*args)


def fn(x):
    out = []
    again = out
    for _ in range(40):
        x = x + 1
        say()
        out.append(x)
    squares = torch.stack([(say(), x * 2)[1] for _ in range(40)])
    out.append(x)
    again.append(len(out))
    return torch.stack(out[:-1]), again[-1], squares


def inputs():
    return (torch.ones(2),)
