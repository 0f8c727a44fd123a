"""Whether there is a process group is looked up like any attribute."""

import torch
import torch.distributed as dist

GRAPHS = 1


def fn(x):
    if dist.is_available() and dist.is_initialized():
        return x - 1
    return x + 1, dist.is_initialized()


def inputs():
    return (torch.ones(2),)
