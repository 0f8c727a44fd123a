"""Options of torch's tracer as a decorator around a break: entered once, left once."""

import torch
import torch._dynamo

GRAPHS = 9
BREAKS = ["Call to `graph_break()`", "Observed exception", "Text of ValueError object"]
SNAPSHOT = False


@torch._dynamo.error_on_graph_break(False)
def broken(x):
    y = x + 1
    torch._dynamo.graph_break()
    return y * 2


@torch._dynamo.patch_dynamo_config(verbose=True)
def patched(x):
    y = x - 1
    print("patched")
    return y * 3


@torch._dynamo.disable_nested_graph_breaks
def raising(x):
    torch._dynamo.graph_break()
    raise ValueError("not today")


class Steps:
    @torch._dynamo.error_on_graph_break(False)
    @torch._dynamo.patch_dynamo_config(verbose=False)
    def step(self, x, n):
        x = x + n
        torch._dynamo.graph_break()
        return x if n == 0 else self.step(x, n - 1) * 2


def fn(x):
    @torch._dynamo.error_on_graph_break(False)
    def inner(y):
        y = y + x
        torch._dynamo.graph_break()
        return y * 2

    x = inner(broken(x)) + patched(x)
    try:
        raising(x)
    except ValueError as error:
        x = x + len(str(error))
    return Steps().step(x, 2), torch._dynamo.config.verbose


def inputs():
    return (torch.ones(2),)
