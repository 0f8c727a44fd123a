"""Tensors of arrays whose device is named, or that take gradients."""

import numpy as np
import torch

GRAPHS = 2
AOT_GRAPHS = 2
SNAPSHOT = False
REFERENCE_WRONG = "does not make tensors that take gradients"


def fn(x):
    blocks = [np.zeros((x.shape[0], 3), dtype=np.int32) for _ in range(2)]
    stacked = torch.tensor(np.stack(blocks), device=x.device, dtype=torch.long)
    same = torch.as_tensor(x.detach().numpy(), device="cpu")
    weights = torch.tensor(np.arange(1.0, 4.0, dtype=np.float32), requires_grad=True)
    same[0] += 1
    bytes = torch.asarray(blocks[0], dtype=torch.int8, device=x.device)
    return stacked, bytes, (x * weights).detach()


def calls():
    return [(torch.ones(n, 3),) for n in (2, 4, 5)]
