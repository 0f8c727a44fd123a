"""A checkpointed function is one node, computed again in the backward with the same dropout."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

linear = nn.Linear(4, 4)
stack = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Dropout(0.5), nn.Linear(4, 4), nn.Tanh())


def block(x, mask=None, scale=2.0):
    y = nn.functional.dropout(linear(x).relu(), 0.5) * scale
    if mask is not None:
        y = y + mask
    return y, [x, y.sin()], {"mask": mask, "scale": scale}


def fn(x, mask):
    y, (same, s), rest = checkpoint(block, x * 2, mask, use_reentrant=False)
    z, _, _ = checkpoint(block, y, use_reentrant=False, scale=0.5)
    w, _, _ = checkpoint(block, z, use_reentrant=False)
    v = checkpoint_sequential(stack, 2, w, use_reentrant=False)
    return same.sum() + s, rest, torch.rand(2), v


def inputs():
    return torch.randn(3, 4, requires_grad=True), torch.randn(3, 4)


GRAPHS = 1
# Its operator does not keep the random state where no compiler is below it.
REFERENCE_WRONG = "dropout is another when it is computed again"
