"""Flags that say which kernels attention may use: the graph sets them."""

import torch
import torch.nn.functional as F

GRAPHS = 1


def fn(q):
    before = torch.backends.cuda.flash_sdp_enabled()
    torch.backends.cuda.enable_flash_sdp(False)
    y = F.scaled_dot_product_attention(q, q, q)
    inside = torch.backends.cuda.flash_sdp_enabled(), torch.backends.cuda.math_sdp_enabled()
    torch.backends.cuda.enable_flash_sdp(before)
    return y + 1, inside, torch.backends.cuda.flash_sdp_enabled()


def inputs():
    return (torch.randn(1, 2, 4, 8),)
