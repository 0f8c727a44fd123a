"""An operation that raises in inference_mode: the modes are as before afterwards."""

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 3


def fn(x):
    try:
        with torch.inference_mode():
            x.view(7)
    except RuntimeError:
        pass
    with torch.inference_mode():
        with torch.enable_grad():
            print(x.sum().item() > 100, torch.is_grad_enabled())
    return x * 2, torch.is_inference_mode_enabled(), torch.is_grad_enabled()


def inputs():
    return (torch.ones(2, 2, requires_grad=True),)
