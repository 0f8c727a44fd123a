"""An operation that takes a tensor of one item for a number reads it when it runs."""

import torch

GRAPHS = 1
SNAPSHOT = False
REFERENCE_GRAPHS = 2


def fn(x, y, n):
    return (
        torch.add(x, y, alpha=n),
        torch.addcmul(x, y, y, value=n),
        torch._foreach_add([x, y], 1 - n),
        torch._foreach_mul([x], n),
        torch.lerp(x, y, n),
    )


def calls():
    return [(torch.randn(3), torch.randn(3), torch.tensor(n)) for n in (0.5, 2.5)]
