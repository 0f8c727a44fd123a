"""A dimension that is seen with another size is dynamic from then on; 0 and 1 stay constants."""

import torch

GRAPHS = 4


def fn(x):
    y = torch.relu(x @ x.t()) + x.sum(1)
    return torch.softmax(y, -1), y.contiguous()


def calls():
    return [(torch.arange(n * 3.0).view(n, 3),) for n in [5, 7, 3, 9, 2, 1, 0, 12, 5]]
