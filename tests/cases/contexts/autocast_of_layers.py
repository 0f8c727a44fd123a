"""What a layer gives under autocast depends on what the layers before it gave."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
conv = nn.Conv2d(3, 8, 3, padding=1)
norm = nn.BatchNorm2d(8).eval()
narrow = nn.Linear(8, 5)
layer_norm = nn.LayerNorm(5)


def fn(x, target):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = F.gelu(norm(conv(x))).flatten(2).mean(-1)
        scores = layer_norm(narrow(y))
        with torch.autocast("cpu", enabled=False):
            plain = y.float() @ narrow.weight.t()
        loss = F.cross_entropy(scores, target)
        if loss.dtype == torch.float32 and scores.dtype == torch.bfloat16:
            return scores, plain, loss
        return loss


def inputs():
    return torch.rand(2, 3, 4, 4), torch.tensor([0, 3])


GRAPHS = 1
