"""The larger and the smaller of sizes and ints that change: which of two it is is not guarded."""

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 7


def fn(x, y, n):
    a, b = x.shape[0], y.shape[0]
    high, low = max(a, b), min(a, b)
    padded = torch.nn.functional.pad(x, (0, 0, 2, 8))[: high + 1]
    within = max(0, min(n, 3))
    lists = min([a, b, n]), max(x.shape), torch.sym_max(n, a), max((a, n), default=1)
    parts = x[:low] * y[:low], x.topk(min(2, a), dim=0)[0], x.new_zeros(high, max(1, b)), y[within:]
    return padded * within, parts, lists, torch.arange(low) * min(high, n)


def calls():
    sizes = [(3, 5, 4), (4, 9, 7), (7, 6, 2), (8, 4, -3), (5, 5, 0), (10, 3, 10), (4, 4, 1)]
    return [(torch.randn(a, 4), torch.randn(b, 4), n) for a, b, n in sizes]
