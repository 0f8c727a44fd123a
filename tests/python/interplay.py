"""What the tests of compiled functions in other surroundings share."""

from __future__ import annotations

from typing import Any

import harness
import torch

if not harness.REFERENCE:
    import ferrodyn

X = torch.arange(3.0)


def backend(graph: Any, inputs: Any) -> Any:
    """Run the graph as it is."""
    return graph.forward


def c(f: Any = None, **choices: Any) -> Any:
    """Compile with `backend`."""
    return ferrodyn.compile(f, backend=backend, **choices)


def same(compiled: Any, plain: Any, *args: Any, **kwargs: Any) -> None:
    """Compare the results of two calls with plain's."""
    for _ in range(2):
        want, got = plain(*args, **kwargs), compiled(*args, **kwargs)
        assert type(want) is type(got)
        torch.testing.assert_close(got, want, rtol=0, atol=0)


class Net(torch.nn.Module):
    """A layer, a norm with running statistics, a number, and a method beside forward."""

    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(3, 3)
        self.norm = torch.nn.BatchNorm1d(3)
        self.k = 2

    def forward(self, x, *, extra=0):
        return self.norm(self.lin(x)) * self.k + extra

    def helper(self, x):
        return self.lin(x) + self.k
