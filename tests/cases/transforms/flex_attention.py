"""flex_attention: functions that close over tensors, masks from outside and made inside."""

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

GRAPHS = 3
BACKWARD = False

BIAS = torch.linspace(-1, 1, 256).reshape(16, 16)
MASK = create_block_mask(lambda b, h, i, j: i >= j, None, None, 16, 16, device="cpu", BLOCK_SIZE=16)


def biased(q, k, v, slopes):
    def score(s, b, h, i, j):
        return s + BIAS[i, j] + slopes[h] * (i - j)

    return flex_attention(q, k, v, score_mod=score) * 2


def masked(q, k, v, slopes):
    out, lse = flex_attention(q, k, v, block_mask=MASK, return_lse=True, scale=0.5)
    return out + 1, lse


def made_inside(q, k, v, slopes):
    mask = create_block_mask(
        lambda b, h, i, j: i - j < 4, None, None, 16, 16, device="cpu", BLOCK_SIZE=16
    )
    return flex_attention(q, k, v, block_mask=mask)


def fn(which, *args):
    return which(*args)


def calls():
    torch.manual_seed(0)
    args = *(torch.randn(1, 2, 16, 8) for _ in range(3)), torch.tensor([0.5, 0.25])
    return [(which, *args) for which in (biased, masked, made_inside)]


# Eager mode itself calls torch.compile.
ALONE = True
SNAPSHOT = False
