"""Numbers as operands: small and large ones, of tensors of every kind."""

import torch

GRAPHS = 7


def fn(x):
    y = x.clone()
    y += 3
    y *= 0.1
    y -= 1e-40
    y /= 7
    return (
        y,
        x + 0.1 - 16777217,
        x * -0.0,
        x / 1e39,
        (x < 0.1, x <= 1, x > -1, x >= 0.5, x == 0.1, x != 2),
        1 - x,
        x + True,
    )


def calls():
    values = [0.1, -0.0, 1.0, 3.5, -1e-40]
    return [
        (torch.tensor(values),),
        (torch.tensor(values, dtype=torch.float64),),
        (torch.tensor(values, dtype=torch.float16),),
        (torch.tensor(values, dtype=torch.bfloat16),),
        (torch.tensor(0.1),),
        (torch.tensor(0.1, dtype=torch.float64),),
        (torch.tensor(values).requires_grad_(),),
    ]
