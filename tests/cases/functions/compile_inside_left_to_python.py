"""Of what was compiled in a compiled function nothing is known but how it is called."""

import torch

GRAPHS = 2
BREAKS = ["Call to `graph_break()`", "Attempted to call function marked as skipped"]
ALONE = True
SNAPSHOT = False

INVALID = "nonsense"


def twice(x):
    return x * 2


def fn(x):
    compiled = torch.compile(twice, backend="eager")
    y = compiled(x)
    torch._dynamo.graph_break()
    y = compiled(y)
    name = compiled.__name__
    try:
        torch.compile(twice, backend=INVALID)
    except Exception as error:
        name += type(error).__name__
    return y, name, compiled is twice


def inputs():
    return (torch.ones(2),)


REFERENCE_WRONG = "gives the function itself in place of one that is compiled"
