"""A subclass answers for an attribute: what it is asked about compares equal to the accessor."""

import torch

GRAPHS = 1


class Counted(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func == torch.Tensor.ndim.__get__:
            return 10
        if func != torch.Tensor.shape.__get__ and func is torch.Tensor.mul:
            return torch.zeros(2)
        return super().__torch_function__(func, types, args, kwargs or {})


def fn(x):
    return x.ndim + torch.ones(2), x.mul(2), (x + 1).as_subclass(torch.Tensor)


def inputs():
    return (torch.ones(2, 2).as_subclass(Counted),)
