"""Slices and pieces between places that only the graph knows: their sizes are the graph's."""

import torch

# One for the first numbers, one for those that are found to change.
GRAPHS = 2
REFERENCE_GRAPHS = 5
SNAPSHOT = False
OPTIONS = {"capture_scalar_outputs": True}


def fn(x, place, start, lengths):
    last, first = place[1].item(), place[0].item()
    between = x[first:last]
    behind = x[start:last].sum()
    ends = x[-last:] * 2, x[last:].sum(), x.narrow(0, 0, first) + 1
    pieces = [piece * 2 for piece in torch.split(x, lengths.tolist())]
    return between * 2, behind, ends, pieces, torch.cat(pieces)


def calls():
    rows = []
    for n in (3, 5, 7, 9):
        x = torch.arange(3.0 * n, requires_grad=True)
        rows.append((x, torch.tensor([2, n]), n - 2, torch.tensor([n - 1, 1, 2 * n])))
    # Beyond the end, and none at all.
    x = torch.arange(6.0, requires_grad=True)
    rows.append((x, torch.tensor([4, 9]), 3, torch.tensor([0, 6, 0])))
    return rows
