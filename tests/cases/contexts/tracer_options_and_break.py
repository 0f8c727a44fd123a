"""Options of torch's tracer: captured code enters, eager code leaves, and the reverse."""

import torch
import torch._dynamo

GRAPHS = 2
REFERENCE_GRAPHS = 0
BYTECODE = True

# An option that was changed before is found in another way than one that never was.
with torch._dynamo.patch_dynamo_config(verbose=True):
    pass


@torch._dynamo.disable
def eager(context, x):
    with context:
        return x + 1


def fn(x):
    own = torch._dynamo.error_on_graph_break(False)
    with own:
        x = x + 1
        for i in range(2):  # a loop that breaks goes on as plain Python, to the end of the function
            print(i)
            x = x * 2
    x = eager(own, x)
    with own, torch._dynamo.patch_dynamo_config(verbose=True):
        x = x - 1
    return x, torch._dynamo.config.verbose, len(own.prev_error_on_graph_break)


def inputs():
    return (torch.ones(2),)
