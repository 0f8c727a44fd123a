"""What is asked of an int that a function gives is guarded; behind a break it is the same one."""

import torch

GRAPHS = 5
REFERENCE_GRAPHS = 12
SNAPSHOT = False


def fn(x, f):
    n = int(f)
    if n > 4:
        return x[:n] + n, n
    y = x * n
    torch._dynamo.graph_break()
    return y + n, int(f * 2), n


def calls():
    return [(torch.arange(12.0), f) for f in (2.5, 3.5, 4.25, 5.5, 6.5, 9.75, 3.0, 8.0)]
