"""What `torch.compile` has compiled is inlined where it is called: the outer choices hold."""

import functools

import torch

GRAPHS = 1
SNAPSHOT = False
ALONE = True


@torch.compile(backend="eager")
def decorated(x, k=2):
    return x.sin() * k


whole = torch.compile(lambda x: x + 1, backend="eager", fullgraph=True)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(3, 3)

    @torch.compile(backend="eager")
    def forward(self, x):
        return self.inner(x) * 2


model = Model()


# It has the attributes of the compiled function, but does something else.
@functools.wraps(decorated)
def around(x):
    return decorated(x) + 10


def fn(x):
    y = decorated(x + 1, k=3)
    return model(whole(y)), around(y)


def inputs():
    return (torch.ones(2, 3, requires_grad=True),)
