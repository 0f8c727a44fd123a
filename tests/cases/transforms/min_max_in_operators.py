"""In functions of operators `min` and `max` of tensors go element by element."""

import torch

OPTIONS = {"capture_scalar_outputs": True}
GRAPHS = 2
REFERENCE_GRAPHS = 3
SNAPSHOT = False
ALONE = True


def fn(x, y, f):
    pair = (x, y)
    larger = torch.cond(x.sum() > 0, lambda a, b: max(a, b, b + 1), lambda a, b: min(a, 0.5), pair)
    chosen = torch.cond(f * 2 > 3, lambda a: a + 1, lambda a: a - 1, (larger,))
    both = torch.cond((f > 1) & (x.dim() == 1), torch.sin, torch.cos, (chosen,))
    rows = torch.vmap(lambda row, at: row[at])(x.expand(2, -1), torch.arange(2))
    return larger, both, rows


def inputs():
    return calls()[0]


def calls():
    x, y = torch.tensor([1.0, 5, 2]), torch.tensor([2.0, 3, 1])
    return [(x, y, 1.0), (-x, y, 2.0), (y, x, 3.5)]
