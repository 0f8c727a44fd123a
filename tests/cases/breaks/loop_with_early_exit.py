"""`break`, `continue` and `else` of a loop whose iterations break the graph."""

import torch

GRAPHS = 1
REFERENCE_GRAPHS = 5


@torch.compiler.disable
def say(*args, **options):
    print(*args, **options)


def fn(x, stop):
    for i in range(20):
        if i % 3 == 1:
            continue
        x = x + i
        say(i)
        if i == stop:
            break
        x = x * 2
    else:
        x = x - 1
    return x


def calls():
    return [(torch.ones(2), 6), (torch.ones(2), -1)]
