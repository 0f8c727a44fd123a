"""Which kernels attention may use is put back where an operation in the block raises."""

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

GRAPHS = 3


def allowed():
    cuda = torch.backends.cuda
    return cuda.flash_sdp_enabled(), cuda.mem_efficient_sdp_enabled(), cuda.math_sdp_enabled()


def chosen(x, i):
    with sdpa_kernel([SDPBackend.MATH]):
        y = x.sin()[i]
    return y.cos()


def handled(x, i):
    try:
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            y = x.cos()[i] + torch.rand(1)
    except IndexError:
        y = x
    return y * 2


def left(x, i):
    torch.backends.cuda.enable_math_sdp(False)
    y = x[i]
    torch.backends.cuda.enable_math_sdp(True)
    return y


def fn(x, i, which):
    return (chosen, handled, left)[which](x, i)


def calls():
    return [
        (torch.ones(3), torch.tensor([i]), which) for which in (0, 1, 2, 0) for i in (1, 5, 2, 7)
    ]


def before(index):
    found = allowed()
    torch.backends.cuda.enable_math_sdp(True)
    torch.backends.cuda.enable_flash_sdp(True)
    torch.backends.cuda.enable_mem_efficient_sdp(True)
    print(index, found)
