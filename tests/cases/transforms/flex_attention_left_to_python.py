"""A score function that does more than compute is left to Python, which refuses it or not."""

import torch
from torch.nn.attention.flex_attention import flex_attention

BREAKS = ["of a function with side effects"]
BACKWARD = False


def fn(q, k, v, seen):
    def score(s, b, h, i, j):
        seen.append(1)
        return s * 2

    q = q + 1
    return flex_attention(q, k, v, score_mod=score) * 2


def inputs():
    torch.manual_seed(0)
    return *(torch.randn(1, 2, 16, 8) for _ in range(3)), []


ALONE = True
SNAPSHOT = False
