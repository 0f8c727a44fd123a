"""Writes to inputs that lie in one memory, whether autograd knows of it or not."""

import numpy as np
import torch

GRAPHS = 1
SNAPSHOT = False


def fn(a, b):
    a.add_(1)
    last = b[-1]
    a[1:].mul_(2)
    return b * 2, last, a[0]


def calls():
    def wide():
        return torch.arange(12.0)

    array = np.arange(12.0, dtype=np.float32)
    base, views, parts, other = wide(), wide(), wide(), wide()
    return [
        (base[2:], base[:10]),
        (views[2:], views.detach()[:10]),
        (parts.detach()[2:], parts.detach()[:10]),
        (torch.from_numpy(array[2:]), torch.from_numpy(array[:10])),
        (torch.from_dlpack(other)[2:], other[:10]),
        (base[2:], base[:10]),
    ]
