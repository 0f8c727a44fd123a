"""`multinomial` refuses a count that is too large; what was done before it stays done."""

import torch

SNAPSHOT = False
GRAPHS = 2
seen = []


def fn(x, count):
    seen.append(count)
    x.add_(1)
    y = x * 2
    drawn = torch.multinomial(x, count)
    seen.append("drawn")
    return y, drawn


def calls():
    return [(torch.ones(4), 2), (torch.ones(4), 9)]
