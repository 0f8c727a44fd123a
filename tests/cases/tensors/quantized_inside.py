"""Tensors that are quantized in the function: views of them, their integers, and back."""

import torch

GRAPHS = 1
REFERENCE_GRAPHS = 3
SNAPSHOT = False


def fn(x, scale):
    q = torch.quantize_per_tensor(x * 2, 0.1, 3, torch.quint8)
    rows = q.view(-1).unsqueeze(0).dequantize() + 1
    signed = torch.quantize_per_tensor(x, scale=0.5, zero_point=-1, dtype=torch.qint8)
    changing = torch.dequantize(torch.quantize_per_tensor(x, scale, 0, torch.qint32))
    kinds = q.is_quantized, q.dtype, rows.is_quantized
    return rows, signed.transpose(0, 1).int_repr() * 2, changing * 2, kinds, signed


def inputs():
    return torch.linspace(-1, 1, 6).reshape(2, 3), 0.25


def calls():
    images = torch.linspace(-1, 1, 6).reshape(2, 3)
    return [inputs(), (images, 0.25), (-images, 0.25)]
