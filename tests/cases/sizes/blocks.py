"""Sizes divided by sizes: blocks of a changing length, taken apart and put together again."""

import torch

GRAPHS = 2
AOT_GRAPHS = 2
SNAPSHOT = False


def gather(blocks, indices):
    count = indices.shape[-2] * indices.shape[-1]
    shift = torch.arange(indices.shape[0] * indices.shape[1] * count)
    shift = torch.div(shift, count, rounding_mode="floor") * blocks.shape[2]
    rows = blocks.reshape(-1, blocks.shape[-2], blocks.shape[-1])
    taken = rows.index_select(0, indices.view(-1) + shift)
    return taken.reshape(blocks.shape[:2] + (count,) + blocks.shape[3:])


def fn(x, indices, block):
    batch, heads, length, width = x.shape
    blocks = x.view(batch, heads, length // block, block, -1)
    indices = indices.unsqueeze(0).expand(batch, *indices.shape).contiguous()
    taken = gather(blocks, indices)
    return taken.view(batch, heads, length // block - 2, indices.shape[-1] * block, -1)


def calls():
    rows = [(2, 3, 24, 5, 4), (3, 2, 42, 7, 6), (5, 4, 20, 6, 2), (4, 5, 32, 9, 8)]
    out = []
    for batch, heads, length, width, block in rows:
        x = torch.arange(float(batch * heads * length * width))
        indices = torch.arange((length // block - 2) * 2).view(-1, 2) // 2
        indices = indices.expand(heads, -1, 2).clone()
        out.append((x.view(batch, heads, length, width), indices, block))
    return out
