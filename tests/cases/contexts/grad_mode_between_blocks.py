"""The end of one `no_grad` block and the beginning of the next set no mode in the graph."""

import torch

GRAPHS = 1
SNAPSHOT = False


def fn(x, w):
    with torch.no_grad():
        scaled = x * 2
    with torch.no_grad():
        shifted = scaled + w
    torch.set_grad_enabled(False)
    torch.set_grad_enabled(True)
    with torch.no_grad():
        with torch.enable_grad():
            pass
        frozen = w.sum()
    return shifted, (x * w).sum() + frozen, frozen.requires_grad, torch.is_grad_enabled()


def inputs():
    return torch.ones(3, requires_grad=True), torch.full((3,), 2.0, requires_grad=True)
