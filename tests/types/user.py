"""What type checkers make of a user's program. Nothing runs this file: both checkers read it."""

from collections.abc import Callable
from typing import Any, assert_type

import ferrodyn
import torch


@ferrodyn.compile
def plain(x: torch.Tensor, n: int) -> torch.Tensor:
    return x * n


@ferrodyn.compile(backend="eager", fullgraph=True, dynamic=None)
def chosen(x: torch.Tensor) -> torch.Tensor:
    return x


@ferrodyn.disable
def untouched(x: torch.Tensor) -> int:
    return len(x)


class Model(torch.nn.Module):
    @ferrodyn.disable
    def helper(self, x: torch.Tensor) -> torch.Tensor:
        return x

    @ferrodyn.disable(recursive=False)
    def shallow(self, x: torch.Tensor) -> str:
        return str(x)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.helper(x)


def backend(graph: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Callable[..., Any]:
    return graph.forward


def use(x: torch.Tensor) -> None:
    assert_type(plain(x, 2), torch.Tensor)
    assert_type(chosen(x), torch.Tensor)
    assert_type(untouched(x), int)
    model = Model()
    assert_type(model.helper(x), torch.Tensor)
    assert_type(model.shallow(x), str)
    assert_type(ferrodyn.compile(model), Model)
    ferrodyn.compile(plain, backend=backend)
    ferrodyn.register_backend(backend, name="mine")
    ferrodyn.config.recompile_limit = 4
    assert_type(ferrodyn.config.progress, bool)
    with ferrodyn.config.patch(recompile_limit=2), ferrodyn.install():
        pass
    out = ferrodyn.explain(plain)(x, 2)
    assert_type(out.graph_count, int)
    assert_type(out.break_reasons[0].hints, list[str])
    assert_type(out.compilations[0].guard_lines[0].nanoseconds, float | None)
