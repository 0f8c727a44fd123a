"""`install`: programs that call ``torch.compile`` are served by Ferrodyn.

``torch.compile``, and with it ``nn.Module.compile`` and ``torch.compiler.compile``, and the
functions of ``torch._dynamo`` that compile become Ferrodyn's. Logs that are asked for by torch's
names are Ferrodyn's too, and functions that can mean nothing to it say so. The marks and decorators
of ``torch.compiler`` are honoured without it.

What does not live here: what the functions do.
"""

from __future__ import annotations

import functools
import logging
import os
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch
import torch._logging as torch_logging
import torch.jit._recursive as scripting
from torch._C._functorch import peek_interpreter_stack

from . import _api, exc, logs
from ._when_imported import when_imported

#: What stands for torch's functions in `torch._dynamo`, by name.
_OF_DYNAMO: dict[str, Callable[..., Any]] = {
    "optimize": _api.optimize,
    "optimize_assert": _api.optimize_assert,
    "explain": _api.explain,
}

#: Functions of `torch._dynamo` that can do nothing here, and what to do instead.
WITHOUT_EFFECT = {
    "allow_c_slot": "hashes and comparisons by C code run between two graphs",
    "disable_nested_graph_breaks": "a graph breaks inside of called functions too; put "
    "torch.compiler.disable on a function that is to run as a whole in eager mode",
    "dont_skip_tracing": "every function in Python is followed, but what is marked with "
    "torch.compiler.disable; take the mark away",
}


def _guard_collectives(enabled: bool) -> bool:
    """Stand for `torch.compiler.set_enable_guard_collectives`."""
    if enabled:
        raise NotImplementedError(
            "Ferrodyn has no collectives around its guards: each process decides by itself whether "
            "it compiles anew. Mark sizes that differ between processes with "
            "torch._dynamo.mark_dynamic, so that all compile alike"
        )
    return False


def _set_logs(**choices: Any) -> None:
    """Stand for `torch._logging.set_logs`: torch's logs, and those of the same names here."""
    torch_logging._internal.set_logs(**choices)
    logs.follow_torch([name for name, level in choices.items() if level])


def _without_effect(name: str, instead: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """Return torch's function with a warning in front of its first call."""
    told = False

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal told
        if not told:
            told = True
            logging.getLogger("ferrodyn").warning(
                "torch._dynamo.%s has no effect on Ferrodyn: %s", name, instead
            )
        return original(*args, **kwargs)

    return call


class _Replaced:
    """Attributes of modules that are replaced while somebody has asked for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._installed = 0
        #: Module, name, what stood there.
        self._originals: list[tuple[ModuleType, str, Any]] = []

    def install(self) -> None:
        with self._lock:
            self._installed += 1
            if self._installed > 1:
                return
            exc.import_torchs = True
            self._replace(torch, "compile", _beside(torch.compile, _api.compile))
            self._replace(torch.compiler, "set_enable_guard_collectives", _guard_collectives)
            self._replace(torch_logging, "set_logs", _set_logs)
            self._leave_out_of_scripts("_compiled_call_impl")
        asked = os.environ.get("TORCH_LOGS", "").split(",")
        logs.follow_torch([name.strip().lstrip("+") for name in asked if name.strip()])
        # Not under the lock: a module that is imported already is handed over at once.
        when_imported("torch._dynamo", self._replace_all)

    def uninstall(self) -> None:
        with self._lock:
            if self._installed == 0:
                return
            self._installed -= 1
            if self._installed == 0:
                exc.import_torchs = False
                while self._originals:
                    module, name, original = self._originals.pop()
                    setattr(module, name, original)

    def _replace_all(self, dynamo: ModuleType) -> None:
        with self._lock:
            if self._installed:
                for name, ours in _OF_DYNAMO.items():
                    self._replace(dynamo, name, _beside(getattr(dynamo, name), ours))
                for name, instead in WITHOUT_EFFECT.items():
                    if (original := getattr(dynamo, name, None)) is not None:
                        self._replace(dynamo, name, _without_effect(name, instead, original))

    def _leave_out_of_scripts(self, attribute: str) -> None:
        # `torch.jit.script` tries to script functions, and takes any other callable for data.
        left_out = getattr(scripting, "ignored_attributes", None)
        if isinstance(left_out, list) and attribute not in left_out:
            self._originals.append((scripting, "ignored_attributes", left_out))
            scripting.ignored_attributes = [*left_out, attribute]

    def _replace(self, module: ModuleType, name: str, ours: Callable[..., Any]) -> None:
        original = getattr(module, name, None)
        if original is None or any(m is module and n == name for m, n, _ in self._originals):
            return
        self._originals.append((module, name, original))
        # Named as torch's function: tools look a function up by its name.
        stand_in = functools.wraps(original)(_forwarding(ours))
        setattr(module, name, stand_in)


def _beside(torchs: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls `ours`, or `torchs` for what has to be captured in a transform.

    Inside of a transform of ``torch.func`` Ferrodyn runs code in eager mode. Torch's control flow
    operators, which compile their own call there, can't do without a compiler: they get torch's.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        whole = kwargs.get("fullgraph") or kwargs.get("nopython")
        if whole and not torch.compiler.is_compiling() and peek_interpreter_stack() is not None:
            return torchs(*args, **kwargs)
        return ours(*args, **kwargs)

    return call


def _forwarding(ours: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of its own that calls `ours`: it gets another's name."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return ours(*args, **kwargs)

    return call


_REPLACED = _Replaced()


class Installed:
    """What :func:`install` returns: leaving its ``with`` block undoes it."""

    def __enter__(self) -> Installed:
        return self

    def __exit__(self, *exc_info: object) -> None:
        uninstall()


def install() -> Installed:
    """Put Ferrodyn in the place of ``torch.compile`` for the whole process.

    Code that calls ``torch.compile``, ``module.compile()``, ``torch.compiler.compile`` or
    ``torch._dynamo.optimize`` from now on gets Ferrodyn; what was compiled before stays. Use it as
    a function, with :func:`uninstall`, or as a context manager::

        with ferrodyn.install():
            model = build()  # calls torch.compile

    Calls nest. A name that a module has imported before (``from torch import compile``) keeps
    torch's function: install first.
    """
    _REPLACED.install()
    return Installed()


def uninstall() -> None:
    """Undo one :func:`install`; nothing where none is left."""
    _REPLACED.uninstall()
