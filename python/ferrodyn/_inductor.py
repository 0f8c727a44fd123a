"""torch's inductor, imported when a graph is first compiled with it."""

from __future__ import annotations

from typing import Any

import torch


class Inductor:
    """Stands for torch's own wrapper of inductor without options: made at the first graph."""

    compiler_name = "inductor"

    def __init__(self, dynamic: bool | None, name: str | None) -> None:
        self._dynamic = dynamic
        self._name = name
        self._made: Any = None

    def __call__(self, graph: torch.fx.GraphModule, inputs: list[Any]) -> Any:
        if self._made is None:
            made = torch._TorchCompileInductorWrapper(None, None, self._dynamic)
            if self._name:
                # Not every torch's wrapper takes one.
                made.name = self._name
            self._made = made
        return self._made(graph, inputs)

    def reset(self) -> None:
        """Do what torch's wrapper does where compiled code is forgotten."""
        if self._made is not None:
            self._made.reset()
