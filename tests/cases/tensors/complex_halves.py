"""Complex tensors as views of pairs: what is written to a half is seen in the whole."""

import torch


def fn(x):
    turned = torch.view_as_complex(x) * torch.polar(torch.ones(3), torch.arange(3.0))
    pairs = torch.view_as_real(turned)
    pairs[:, 0] += 1
    turned.imag.mul_(2)
    if turned.real.dtype == torch.float32 and x.real is x:
        return turned, pairs, turned.real.stride()
    return x


def inputs():
    return (torch.arange(6.0).reshape(3, 2),)


GRAPHS = 1
