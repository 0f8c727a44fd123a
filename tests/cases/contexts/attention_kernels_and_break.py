"""A graph break while the kernels of attention are chosen; what is not a kernel is refused."""

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

GRAPHS = 4
REFERENCE_GRAPHS = 1
BYTECODE = True


def fn(q):
    with sdpa_kernel(SDPBackend.MATH):
        y = F.scaled_dot_product_attention(q, q, q)
        torch._dynamo.graph_break()
        inside = torch.backends.cuda.flash_sdp_enabled(), torch.backends.cuda.math_sdp_enabled()
        y = y + F.scaled_dot_product_attention(q, q, q)
    try:
        with sdpa_kernel("math"):
            y = y + 1
    except AssertionError as error:
        text = str(error)
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH], set_priority=True):
        y = y * F.scaled_dot_product_attention(q, q, q)
    with torch.backends.cuda.sdp_kernel(enable_flash=False):
        y = y + F.scaled_dot_product_attention(q, q, q)
    return y, inside, text, torch.backends.cuda.flash_sdp_enabled()


def inputs():
    return (torch.randn(1, 2, 4, 8),)
