"""What functions that are allowed in graphs do to lists and dictionaries of the program is seen."""

import torch

GRAPHS = 3
REFERENCE_WRONG = "raises TypeError"
BREAKS = ["Operation that can't be described without running it"]
SNAPSHOT = False


@torch.compiler.allow_in_graph
def appends(x, seen, *, by_name):
    seen.append(x.shape[0])
    by_name["k"] = x * 2
    return x + 1


@torch.compiler.allow_in_graph
def reads(x, values):
    return x + values[0] + len(values)


def fn(x, seen):
    values = [x * 2, 3]
    by_name = {}
    y = appends(reads(x, values), seen, by_name=by_name)
    return y * 2, by_name, len(seen), values


def inputs():
    return torch.ones(3), [1]
