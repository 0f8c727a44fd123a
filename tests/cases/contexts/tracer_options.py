"""Options of torch's tracer that are entered and left in one graph leave nothing behind."""

import torch
import torch._dynamo

GRAPHS = 1


@torch._dynamo.patch_dynamo_config(verbose=True)
def patched(x):
    return x * 3


options = torch._dynamo.error_on_graph_break(False)


def fn(x):
    with options:
        with options:
            x = patched(x) + 1
        x = x * 2
    return x, len(options.prev_error_on_graph_break)


def inputs():
    return (torch.ones(2),)
