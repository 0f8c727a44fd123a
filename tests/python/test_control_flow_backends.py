"""Control flow operators below a backend that was written by hand around AOTAutograd."""

from __future__ import annotations

import functools

import harness
import pytest
import torch

if not harness.REFERENCE:
    import ferrodyn
pytestmark = pytest.mark.own


def aot(graph, inputs, *, compiler):
    from torch._functorch.aot_autograd import aot_module_simplified

    return aot_module_simplified(graph, inputs, fw_compiler=compiler)


def compiler(graph, inputs):
    return graph.forward


weight = torch.arange(1.0, 4.0)


def loop(x):
    return torch.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * weight), (x.sum(), x))


def branch(x):
    return torch.cond(x.sum() > 3, lambda v: v - weight, lambda v: weight - v, (x,))


@pytest.mark.parametrize("fn", [loop, branch])
@pytest.mark.parametrize("written_as", ["function", "partial"])
def test_control_flow(fn, written_as):
    backend = functools.partial(aot, compiler=compiler)
    if written_as == "function":
        partial = backend
        backend = lambda graph, inputs: partial(graph, inputs)  # noqa: E731
    compiled = ferrodyn.compile(fn, backend=backend, fullgraph=True)
    for x in [torch.zeros(3), torch.ones(3), torch.full((3,), 2.0)]:
        torch.testing.assert_close(compiled(x), fn(x))
