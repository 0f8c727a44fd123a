"""Numbers computed with small tensors of dynamic ints are constants where they are read."""

import torch

GRAPHS = 5
REFERENCE_GRAPHS = 9


def fn(x, n):
    size = torch.tensor(x.shape[0])
    half = torch.div(size, 2, rounding_mode="floor")
    shape = torch._shape_as_tensor(x)
    y = x[: half.item()] + n
    z = torch.zeros(int(torch.tensor([n, 3])[0]), 2)
    flat = x.view(-1)[: (shape[0] * shape[1]).item()]
    return y, z, flat, (size + n).item(), torch.tensor([n, 1]).tolist()


def calls():
    return [(torch.ones(size, 2), n) for size, n in [(4, 2), (6, 3), (8, 4), (9, 4), (6, 5)]]
