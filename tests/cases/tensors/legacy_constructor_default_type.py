"""torch.Tensor has the default dtype; what it can't hold is left to Python."""

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 0


def fn(x):
    try:
        torch.LongTensor([1.5])
        text = ""
    except TypeError as error:
        text = str(error)
    return torch.Tensor([1, 2]), torch.Tensor(2).dtype, torch.Tensor([x[0], 3]), text


def before(i):
    torch.set_default_dtype(torch.float64 if i == 1 else torch.float32)


def calls():
    return [(torch.ones(2),), (torch.ones(2),), (torch.ones(2),)]
