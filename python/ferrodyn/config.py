"""Options of Ferrodyn, process-wide.

Read and set them as attributes (``ferrodyn.config.recompile_limit = 2``), or for a
while with :func:`patch`, which is a context manager and a decorator. An option that
torch has too goes by torch's name, or by any of them where torch has several. ``disable``
begins as True where ``FERRODYN_DISABLE=1`` or ``TORCH_COMPILE_DISABLE=1`` is set, ``cache``
as False where ``FERRODYN_CACHE=0`` is. The native module owns the values, so every thread sees
the same ones: patches of two threads that overlap in time see each other.
"""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Callable, Mapping
from contextlib import ContextDecorator
from typing import TYPE_CHECKING, Any

from . import _core
from .exc import ConfigError

if TYPE_CHECKING:
    #: A size or an int is a constant until it is seen with another value. False: none is.
    assume_static_by_default: bool
    #: A size or an int that is seen with another value becomes dynamic.
    automatic_dynamic_shapes: bool
    #: An int is a constant, also where it is seen to change. Sizes are not meant.
    specialize_int: bool
    #: A float is a constant, also where it is seen to change.
    specialize_float: bool
    #: Sizes of parameters are constants, also where they are seen to change.
    force_parameter_static_shapes: bool
    #: A number that is read from a tensor (``x.item()``) may also be a size or a place in a tensor.
    capture_scalar_outputs: bool
    #: Operations whose results' sizes depend on data (``nonzero``, ``x[mask]``) stay in the graph.
    capture_dynamic_output_shape_ops: bool
    #: How often a function is compiled before it runs in eager mode. Also ``cache_size_limit``.
    recompile_limit: int
    #: How often all parts of a function together are, over all choices of ``compile``.
    accumulated_recompile_limit: int
    #: Raise ``RecompileError`` where a function would be compiled again.
    error_on_recompile: bool
    #: Raise ``FailOnRecompileLimitHit`` where a limit is reached.
    fail_on_recompile_limit_hit: bool
    #: Log internal errors with what was being captured.
    verbose: bool
    #: Where a backend raises, warn and run the function in eager mode.
    suppress_errors: bool
    #: Compile nothing.
    disable: bool
    #: A thread that meets code which another one compiles waits for it; else it runs it in eager
    #: mode.
    wait_for_compilation: bool
    #: Results of inductor are kept on disk, and those of earlier processes are used.
    cache: bool
    #: Captures are kept there as well, and those of earlier processes are taken instead of
    #: translating the code again. Begins as False where ``FERRODYN_CACHE_CAPTURES=0`` is set.
    cache_captures: bool
    #: A compilation of more than two seconds shows on a terminal what it is at.
    progress: bool
    #: After how many bytecode instructions capture of one call is given up.
    max_instructions: int
    #: After how many instructions in a row that add nothing to the graph.
    max_plain_instructions: int

_NAMES: frozenset[str] = frozenset(_core.get_config())

#: Names that torch keeps for options which go by others now.
_ALIASES: dict[str, str] = {
    "cache_size_limit": "recompile_limit",
    "accumulated_cache_size_limit": "accumulated_recompile_limit",
    "fail_on_cache_limit_hit": "fail_on_recompile_limit_hit",
}

#: Variables of the environment that switch compiling off.
_SWITCHES = ("FERRODYN_DISABLE", "TORCH_COMPILE_DISABLE")

if any(os.environ.get(switch) == "1" for switch in _SWITCHES):
    _core.set_config({"disable": True})
if os.environ.get("FERRODYN_CACHE") == "0":
    _core.set_config({"cache": False})
if os.environ.get("FERRODYN_CACHE_CAPTURES") == "0":
    _core.set_config({"cache_captures": False})


def _unknown(name: str) -> AttributeError:
    import difflib

    close = difflib.get_close_matches(name, _NAMES, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else f" Options: {', '.join(sorted(_NAMES))}."
    return AttributeError(f"ferrodyn.config has no option {name!r}.{hint}")


def _checked(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``changes`` by the options' own names; raise where a name or a type is wrong."""
    current = _core.get_config()
    changes = {_ALIASES.get(name, name): value for name, value in changes.items()}
    for name, value in changes.items():
        if name not in current:
            raise _unknown(name)
        kind = type(current[name])
        if kind is int and type(value) is int and value < 0:
            raise ConfigError(f"ferrodyn.config.{name} cannot be negative, got {value}")
        if kind in (bool, int, float, str) and type(value) is not kind:
            raise ConfigError(
                f"ferrodyn.config.{name} takes a {kind.__name__}, got {value!r} "
                f"of type {type(value).__name__}"
            )
    return changes


class _Patch(ContextDecorator):
    """What :func:`patch` returns: may be entered again, also while it is active."""

    def __init__(self, changes: dict[str, Any]) -> None:
        self._changes = changes
        self._saved: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        current = _core.get_config()
        _core.set_config(self._changes)
        self._saved.append({name: current[name] for name in self._changes})

    def __exit__(self, *exc_info: object) -> None:
        _core.set_config(self._saved.pop())


def patch(
    changes: Mapping[str, Any] | str | None = None, value: Any = None, /, **options: Any
) -> _Patch:
    """Set options for a ``with`` block or for the calls of a decorated function.

    Three forms: ``patch(recompile_limit=2)``, ``patch({"recompile_limit": 2})`` and
    ``patch("recompile_limit", 2)``. Nests; what was there before comes back on the way
    out, also when the block raises.
    """
    if isinstance(changes, str):
        options = {changes: value, **options}
    elif changes is not None:
        options = {**changes, **options}
    if not options:
        raise ConfigError("ferrodyn.config.patch was given no option")
    return _Patch(_checked(options))


def to_dict() -> dict[str, Any]:
    """Return a copy of all options and their values."""
    return dict(_core.get_config())


def load_config(options: Mapping[str, Any]) -> None:
    """Set several options at once, such as those that :func:`to_dict` returned."""
    _core.set_config(_checked(options))


class _ConfigModule(types.ModuleType):
    """This module's own type: options are its attributes."""

    patch: Callable[..., _Patch]

    def __getattr__(self, name: str) -> Any:
        name = _ALIASES.get(name, name)
        if name in _NAMES:
            return _core.get_config()[name]
        if name.startswith("__"):
            raise AttributeError(name)
        raise _unknown(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__") or isinstance(value, types.ModuleType):
            super().__setattr__(name, value)
            return
        _core.set_config(_checked({name: value}))

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"ferrodyn.config.{name} cannot be deleted")

    def __dir__(self) -> list[str]:
        return sorted(_NAMES | {"load_config", "patch", "to_dict"})


sys.modules[__name__].__class__ = _ConfigModule
