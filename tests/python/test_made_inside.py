"""Tensors and modules that a compiled function makes are what eager makes, whatever the backend.

A compiler gives back plain tensors that require no gradients, and draws random numbers of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import harness
import pytest
import torch
from torch import nn
from torch.signal import windows

pytestmark = pytest.mark.slow

BACKENDS = ["eager", "aot_eager"]
like = torch.tensor([3.0, 1, 4])

FACTORIES: dict[str, Callable[..., torch.Tensor]] = {
    "ones": lambda **k: torch.ones(3, **k),
    "zeros": lambda **k: torch.zeros(3, **k),
    "full": lambda **k: torch.full((3,), 2.0, **k),
    "rand": lambda **k: torch.rand(3, **k),
    "randint": lambda **k: torch.randint(0, 9, (3,), dtype=torch.float, **k),
    "arange": lambda **k: torch.arange(3.0, **k),
    "linspace": lambda **k: torch.linspace(0, 1, 3, **k),
    "eye": lambda **k: torch.eye(3, **k),
    "randperm": lambda **k: torch.randperm(3, dtype=torch.float, **k),
    "normal": lambda **k: torch.normal(0.0, 1.0, (3,), **k),
    "hann_window": lambda **k: torch.hann_window(3, **k),
    "kaiser_window": lambda **k: torch.kaiser_window(3, **k),
    "ones_like": lambda **k: torch.ones_like(like, **k),
    "randn_like": lambda **k: torch.randn_like(like, **k),
    "full_like": lambda **k: torch.full_like(like, 2.0, **k),
    "new_ones": lambda **k: like.new_ones((3,), **k),
    "new_full": lambda **k: like.new_full((3,), 2.0, **k),
    "windows.cosine": lambda **k: windows.cosine(3, **k),
    "windows.gaussian": lambda **k: windows.gaussian(3, **k),
    "windows.kaiser": lambda **k: windows.kaiser(3, **k),
}


def _described(fn: Callable[..., Any]) -> Any:
    torch.manual_seed(0)
    made = fn(torch.tensor([1.0, 2, 3]))
    described = [
        (type(t), t.requires_grad, t.is_leaf, t.detach().tolist())
        for t in (made if isinstance(made, tuple) else (made,))
    ]
    return described, torch.rand(1)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", FACTORIES)
def test_requires_grad_of_a_factory(name: str, backend: str) -> None:
    """With `layout=`, which no metadata rule covers, as without."""
    for options in ({}, {"layout": torch.strided}):
        for use in (lambda t, x: t, lambda t, x: (t * x, t), lambda t, x: t.detach() + x * t):

            def fn(x: torch.Tensor, use: Any = use, options: Any = options) -> Any:
                return use(FACTORIES[name](requires_grad=True, **options), x)

            expected = _described(fn)
            harness.reset()
            assert _described(harness.compile(fn, backend=backend)) == expected


class Made(nn.Module):
    """Modules in a module, and initialisers of torch's."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3))
        self.scale = nn.Parameter(torch.ones(3))
        nn.init.trunc_normal_(self.scale)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """A little of each."""
        return self.layers(x) * self.scale


class Derived(nn.Linear):
    """Its constructor is called by that of another class."""

    def __init__(self) -> None:
        super().__init__(3, 3)
        self.offset = nn.Parameter(torch.zeros(3))


MODULES: dict[str, Callable[[torch.Tensor], Any]] = {
    "linear": lambda x: nn.Linear(3, 3)(x),
    "weight": lambda x: nn.Linear(3, 3).weight,
    "embedding": lambda x: nn.Embedding(3, 3)(torch.tensor([1, 2])),
    "conv": lambda x: nn.Conv1d(1, 1, 3)(x.view(1, 1, 3)),
    "cell": lambda x: nn.LSTMCell(3, 3)(x.view(1, 3))[0],
    "attention": lambda x: nn.MultiheadAttention(3, 1)(*[x.view(1, 3)] * 3)[0],
    "user": lambda x: Made()(x),
    "derived": lambda x: Derived()(x),
    "truncated": lambda x: nn.init.trunc_normal_(torch.empty(3)),
}


@pytest.mark.parametrize("backend", [*BACKENDS, "inductor"])
@pytest.mark.parametrize("name", MODULES)
def test_module_made_inside(name: str, backend: str) -> None:
    """The weights are eager's, and so is the state of the generator afterwards."""
    program = MODULES[name]
    expected, state = _described(program)
    harness.reset()
    found, new_state = _described(harness.compile(program, backend=backend))
    assert new_state == state
    for (*want, numbers), (*got, made) in zip(expected, found, strict=True):
        assert got == want
        torch.testing.assert_close(torch.tensor(made), torch.tensor(numbers))


def test_module_made_inside_is_not_taken_apart() -> None:
    """Below a compiler the graph is that of the call, not one for each piece of the constructor."""
    graphs = []

    def backend(graph: torch.fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
        graphs.append(graph)
        return lambda *args: graph(*args)

    compiled = harness.compile(lambda x: nn.Linear(3, 3)(x), backend=backend)
    compiled(torch.ones(3))
    # The first was captured for a graph that runs as it is.
    assert len(graphs) <= 2
    assert sum("uniform_" in str(graph.graph) for graph in graphs[1:]) == 0
