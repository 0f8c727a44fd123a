"""What a hook reads may be another until the backward pass: variables, containers, objects."""

import torch

SNAPSHOT = False
GRAPHS = 1
REFERENCE_WRONG = "reads what hooks read where they are registered"


class Settings:
    scale = 1.0


def fn(x):
    first, fixed, settings, scales = 1.0, 2.0, Settings(), [1.0]

    def change():
        nonlocal first
        first = 4.0

    seen = {}
    y = x * 2
    y.register_hook(lambda g: g * first)
    y.register_hook(lambda g: g * fixed)
    y.register_hook(lambda g: g * settings.scale)
    y.register_hook(lambda g: g * scales[0])
    y.register_hook(lambda g: torch.relu(g) if seen else None)
    for power in (1.0, 2.0):
        y.register_hook(lambda g: g * power)
    z = y.sin()
    z.register_hook(lambda g: seen.setdefault("gradient", g))
    change()
    settings.scale, scales[0] = 3.0, 5.0
    return z


def calls():
    return [(torch.tensor([1.0, -2.0, 3.0], requires_grad=True),) for _ in range(2)]
