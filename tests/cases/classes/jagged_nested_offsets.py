"""Nested tensors fit together where they hold the same offsets, which is guarded."""

import torch

# Values of one number of rows, of any; around the sum that raises one before and one behind.
GRAPHS = 4
SNAPSHOT = False
REFERENCE_WRONG = "adds nested tensors that do not fit together"


def fn(x, y, values):
    made = torch.nested.nested_tensor_from_jagged(values, x.offsets())
    same = made * x
    try:
        same = same + y
    except RuntimeError:
        return "does not fit", same.values()
    return same.values(), same.offsets()


def jagged(*lengths):
    rows = [torch.arange(n * 4.0).view(n, 4) for n in lengths]
    return torch.nested.nested_tensor(rows, layout=torch.jagged)


def calls():
    out = []
    for lengths in [(2, 3), (4, 3), (2, 9)]:
        x = jagged(*lengths)
        out.append((x, x.cos(), torch.ones(sum(lengths), 4)))
    out.append((jagged(2, 3), jagged(2, 3), torch.ones(5, 4)))
    return out
