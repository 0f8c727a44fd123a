"""Jagged nested tensors are inputs of the graph, which serves rows of all lengths."""

import torch

# A number of rows of its own, any number, a shortest row of one element.
GRAPHS = 3
SNAPSHOT = False

weight = torch.arange(24.0).view(4, 6)


def parts(x):
    return x.values(), x.offsets()


def fn(x):
    y = torch.sin(x) * 2 + x
    z = torch.nn.functional.layer_norm(y, (4,)) @ weight
    means = x.sum(1) / x.offsets().diff().unsqueeze(-1)
    facts = x.is_nested, x.layout, x.dim(), y.size(0), y.size(-1)
    return parts(z), means, facts


def jagged(*lengths):
    rows = [torch.arange(n * 4.0).view(n, 4) for n in lengths]
    return torch.nested.nested_tensor(rows, layout=torch.jagged)


def calls():
    lengths = [(2, 3), (4, 3), (2, 9), (4, 3, 5), (4, 3, 5, 7), (1, 5)]
    return [(jagged(*some),) for some in lengths]
