"""`nonzero`, `unique`, `bincount` and the like below the option that captures them."""

import torch

OPTIONS = {"capture_dynamic_output_shape_ops": True, "capture_scalar_outputs": True}
GRAPHS = 1


def fn(x, classes):
    places = (x > 0).nonzero()
    rows, columns = torch.nonzero(x > 0, as_tuple=True)
    values, inverse = torch.unique(classes, return_inverse=True)
    out = torch.zeros_like(x)
    for number in range(2):
        index = torch.where(classes == number)[0]
        out.index_add_(0, index, x[index] * (number + 1))
    made = torch.ones(places.shape[0], 2)
    repeated = torch.repeat_interleave(x, classes, dim=0)
    return places * 2, rows + columns, values[inverse], out, made, torch.bincount(classes), repeated


def calls():
    x = torch.randn(4, 3)
    return [(x, torch.tensor([0, 1, 1, 2])), (-x, torch.tensor([1, 1, 0, 0]))]
