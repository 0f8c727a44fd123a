"""Generator expressions consumed by builtins."""

import torch

GRAPHS = 1


def fn(x, items):
    return (
        sum(x * i for i in items),
        tuple(x + i for i in items),
        any(i > 2 for i in items),
        all(i > 2 for i in items),
        max(i for i in items),
        ",".join(str(i) for i in items),
    )


def inputs():
    return torch.ones(2), (1, 2, 3)
