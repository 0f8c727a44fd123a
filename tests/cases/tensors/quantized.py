"""A quantized argument, and what is asked of a scale, are left to Python: fakes have no scale."""

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 1
SNAPSHOT = False


def fn(x, q):
    made = torch.quantize_per_tensor(x * 2, 0.1, 0, torch.quint8)
    return made.dequantize() + 1, q.dequantize() * 2, made.q_scale()


def calls():
    q = torch.quantize_per_tensor(torch.ones(3), 0.5, 0, torch.qint8)
    return [(torch.ones(3), q), (torch.ones(3) * 3, q)]


def before(i):
    import warnings

    warnings.simplefilter("ignore")


BACKWARD = False
