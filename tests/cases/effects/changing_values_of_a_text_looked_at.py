"""A text of a value that changes is guarded where somebody looks at the text itself."""

import torch

GRAPHS = 4


def fn(x, name, i):
    if name.lower().startswith("sin"):
        x = x.sin()
    x = x + 1
    key = f"{name}_{i // 10}"
    return {key: x}, len(key), key == "cos_0", key in {"sin_1": 1}


def calls():
    x = torch.ones(3)
    return [(x, *of) for of in [("sin", 3), ("SIN", 12), ("cos", 5), ("sin", 3), ("cos", 25)]]
