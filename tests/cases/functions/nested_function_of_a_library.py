"""A function that a library's function makes anew in each call, with defaults, crosses a break."""

import sysconfig

import torch

GRAPHS = 3
REFERENCE_GRAPHS = 3
SNAPSHOT = False

SOURCE = """
def packed(x, scale):
    def unpack(y, by=None, more=(1, 2)):
        return y * (scale if by is None else by) + more[0]

    return x.flatten(), unpack
"""

library = {}
exec(compile(SOURCE, f"{sysconfig.get_path('purelib')}/packs.py", "exec"), library)


def fn(x, scale):
    x, unpack = library["packed"](x, scale)
    if x.sum() > 0:
        return unpack(x)
    return unpack(x, 3)


def calls():
    ones = [(torch.ones(2, 3), 2) for _ in range(10)]
    return [*ones, (-torch.ones(2, 3), 2), *ones, (-torch.ones(2, 3), 2)]
