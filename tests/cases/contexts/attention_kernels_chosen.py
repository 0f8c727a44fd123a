"""`sdpa_kernel` chooses the kernels of attention for a while."""

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

GRAPHS = 1


def flags():
    cuda = torch.backends.cuda
    return cuda.flash_sdp_enabled(), cuda.math_sdp_enabled(), cuda.mem_efficient_sdp_enabled()


def fn(q, first):
    with sdpa_kernel(first):
        y = F.scaled_dot_product_attention(q, q, q)
        inside = flags()
        with sdpa_kernel(backends=[SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
            y = y + F.scaled_dot_product_attention(q, q, q)
            nested = flags()
        with sdpa_kernel(SDPBackend.MATH):
            y = y * F.scaled_dot_product_attention(q, q, q)
    return y, inside, nested, flags(), {SDPBackend.MATH: first == SDPBackend.MATH}


def calls():
    q = torch.randn(1, 2, 4, 8)
    return [(q, SDPBackend.MATH), (q, SDPBackend.MATH)]
