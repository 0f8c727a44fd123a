"""What a mask selects has a size that only the graph knows, which goes on into other operations."""

import torch

OPTIONS = {"capture_dynamic_output_shape_ops": True}
GRAPHS = 1

weight = torch.arange(8.0).view(4, 2)


def fn(x, chosen):
    rows = x[chosen]
    positive = torch.masked_select(x, x > 0)
    both = torch.cat([positive, x[x < 0]])
    zeros = torch.zeros_like(x)
    zeros[chosen] = rows.relu()
    mean = rows.sum() / len(rows)
    return rows @ weight, positive * 2, both.shape[0], both + 1, zeros, mean


def calls():
    masks = ([True, False, True, True], [False, True, True, False], [True, True, True, True])
    return [(torch.randn(4, 4), torch.tensor(mask)) for mask in masks]
