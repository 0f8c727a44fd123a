"""Attributes of tensors that are constants while tracing."""

import torch

GRAPHS = 1


def fn(x):
    return (
        x + x.ndim,
        x.dtype,
        x.device,
        x.device.type,
        x.requires_grad,
        x.is_contiguous(),
        x.is_floating_point(),
        x.layout,
        x.T,
        x.mT,
        x.is_cuda,
        x.itemsize,
        x.nelement(),
        x.dtype.is_floating_point,
        torch.is_tensor(x),
        x.data.sum(),
        x.element_size(),
    )


def inputs():
    return (torch.randn(2, 3),)
