"""`guard_filter_fn`: what a filter written for ``torch.compile`` is told of the guards.

What does not live here: what becomes of a guard that the filter drops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

#: The first part of a module's name where its classes come with torch.
_BUILTIN = ("torch.nn.", "torch.ao.")


@dataclass(frozen=True)
class _Source:
    """The part of torch's sources that its own filters ask: whether a guard is about a module."""

    #: The modules on the way to what is guarded.
    modules: tuple[Any, ...]

    def is_unspecialized_nn_module(self) -> bool:
        return bool(self.modules)

    def is_unspecialized_builtin_nn_module(self) -> bool:
        return bool(self.modules) and type(self.modules[0]).__module__.startswith(_BUILTIN)


@dataclass(frozen=True)
class _Guard:
    """Stands for torch's own guard in an entry."""

    name: str
    source: _Source

    @property
    def originating_source(self) -> _Source:
        return self.source


@dataclass(frozen=True)
class GuardFilterEntry:
    """A guard, by the names of torch's class."""

    #: How the value is reached: ``x``, ``self.weight``, ``G['scale']``.
    name: str
    #: Whether ``value`` is what the guard is about.
    has_value: bool
    #: The value that was guarded.
    value: object
    #: torch's name of the kind of guard: ``TENSOR_MATCH``.
    guard_type: str
    derived_guard_types: tuple[str, ...]
    #: Whether it is reached by the globals of a module.
    is_global: bool
    orig_guard: _Guard
    #: The guard as Python.
    code_parts: tuple[str, ...]


def kept(
    filter_fn: Callable[[Sequence[GuardFilterEntry]], Sequence[bool]],
    guards: Sequence[dict[str, Any]],
) -> list[bool]:
    """Ask a filter about guards; its answer for each."""
    entries = []
    for guard in guards:
        name = guard["name"].removeprefix("L['").replace("']", "", 1)
        name = name if guard["name"].startswith("L['") else guard["name"]
        entries.append(
            GuardFilterEntry(
                name=name,
                has_value=guard["has_value"],
                value=guard["value"],
                guard_type=guard["guard_type"],
                derived_guard_types=(guard["guard_type"],),
                is_global=guard["is_global"],
                orig_guard=_Guard(name, _Source(tuple(guard["modules"]))),
                code_parts=tuple(guard["code_parts"]),
            )
        )
    return [bool(answer) for answer in filter_fn(entries)]
