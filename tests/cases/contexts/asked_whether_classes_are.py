"""Whether torch asks classes of tensors, within the contexts in which it does not."""

import torch

GRAPHS = 1


def enabled():
    return torch._C._is_torch_function_enabled()


def fn(x):
    found = [enabled()]
    with torch._C.DisableTorchFunctionSubclass():
        found.append(enabled())
        with torch._C.DisableTorchFunctionSubclass():
            x = x + 1
            found.append(enabled())
        found.append(enabled())
    return x, [*found, enabled()]


def inputs():
    return (torch.ones(2),)
