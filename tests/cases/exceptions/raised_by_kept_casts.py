"""Autocast keeps casts of parameters while its dtype changes: a layer raises, eager catches it."""

import torch

GRAPHS = 3
REFERENCE_GRAPHS = 4

layer = torch.nn.Linear(3, 3)
log = []


def fn(x):
    log.append(torch.get_autocast_dtype("cpu"))
    doubled = x * 2
    try:
        return layer(doubled)
    except RuntimeError as e:
        log.append("raised")
        return type(e).__name__


def before(index):
    torch.set_autocast_enabled("cpu", index in (1, 2))
    torch.set_autocast_dtype("cpu", torch.float16 if index == 2 else torch.bfloat16)
    if index == 0:
        torch.clear_autocast_cache()


def calls():
    return [(torch.randn(2, 3),)] * 4


COMPILED_WRONG = "AOTAutograd casts parameters anew, and nothing raises"
