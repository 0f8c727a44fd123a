"""Past the recompile limit the function runs plainly, and rightly."""

import torch

GRAPHS = 8
SNAPSHOT = False


def fn(x, n):
    for _ in range(n):
        x = x * n
    return x


def calls():
    return [(torch.ones(2), str(n) and n) for n in range(1, 13)] + [(torch.ones(2), 3)]
