"""Markers and questions that a tracer answers without a break."""

import torch

GRAPHS = 1
BACKWARD = False


@torch.compiler.nested_compile_region
def region(x, k=2):
    return x.cos() * k


def fn(x):
    torch._check(x.shape[0] > 1, lambda: "too small")
    torch._check(True)
    torch._check_is_size(x.shape[0])
    torch._check_value(x.ndim == 2, lambda: "not a matrix")
    torch._check_with(ValueError, x.shape[0] > 0, lambda: "empty")
    if torch.cuda.is_available():
        x = x + 1
    with torch.no_grad():
        y = torch.utils.checkpoint.checkpoint(lambda a: a.sin() * 2, x, use_reentrant=False)
    return region(x) + region(y, k=3), torch.cuda.device_count()


def inputs():
    return (torch.randn(2, 3),)
