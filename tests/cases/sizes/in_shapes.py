"""Shapes that are computed from sizes: views, slices, new tensors."""

import torch

GRAPHS = 2


def fn(x):
    b, t, c = x.shape
    heads = x.view(b, t, 2, c // 2).transpose(1, 2)
    mask = torch.full((t, t), -1.0).triu(1)
    scores = heads @ heads.transpose(-1, -2) + mask
    position = torch.arange(t).unsqueeze(0).expand(b, -1)
    out = (scores.softmax(-1) @ heads).transpose(1, 2).reshape(b, t, -1)
    return out, position, x[:, -1], torch.cat([x, x[:, :1]], 1), x.new_zeros(t, 3)


def calls():
    return [(torch.randn(2, t, 8),) for t in [5, 7, 3, 9, 4, 12]]
