"""`assert` of a number that the graph reads is a check of the graph, and is relied on."""

import torch

OPTIONS = {"capture_scalar_outputs": True}
GRAPHS = 1
SNAPSHOT = False


def fn(t, y):
    n = t.item()
    assert n > 0
    assert n < 7, "at most six"
    assert not (n == 5)
    return y[:n] * 2


def calls():
    return [(torch.tensor(n), torch.randn(8)) for n in (4, 3, 0, 9, 5, 6)]
