"""Selective checkpointing: contexts by a partial made inside, and by a function of the module."""

import functools

import torch
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)

GRAPHS = 1

layer = torch.nn.Linear(3, 3)


def policy(ctx, op, *args, **kwargs):
    if op == torch.ops.aten.addmm.default:
        return CheckpointPolicy.MUST_SAVE
    return CheckpointPolicy.PREFER_RECOMPUTE


def contexts():
    return create_selective_checkpoint_contexts(policy)


def body(x):
    return torch.relu(layer(x)).sin() * 2


def fn(x):
    made = functools.partial(create_selective_checkpoint_contexts, policy)
    y = checkpoint(body, x, use_reentrant=False, context_fn=made)
    return checkpoint(body, y, use_reentrant=False, context_fn=contexts) + 1


def inputs():
    return (torch.linspace(0, 1, 6).reshape(2, 3).requires_grad_(),)
