"""`install`: programs that call ``torch.compile`` are served by Ferrodyn.

``torch.compile``, and with it ``nn.Module.compile`` and ``torch.compiler.compile``, and the
functions of ``torch._dynamo`` that compile become Ferrodyn's. The marks and decorators of
``torch.compiler`` are honoured without it.

What does not live here: what the functions do.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

from . import _api, _explain
from ._when_imported import when_imported

#: What stands for torch's functions in `torch._dynamo`, by name.
_OF_DYNAMO: dict[str, Callable[..., Any]] = {
    "optimize": _api.optimize,
    "optimize_assert": _api.optimize_assert,
    "explain": _explain.explain,
}


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
            self._replace(torch, "compile", _api.compile)
        # Not under the lock: a module that is imported already is handed over at once.
        when_imported("torch._dynamo", self._replace_all)

    def uninstall(self) -> None:
        with self._lock:
            if self._installed == 0:
                return
            self._installed -= 1
            if self._installed == 0:
                while self._originals:
                    module, name, original = self._originals.pop()
                    setattr(module, name, original)

    def _replace_all(self, dynamo: ModuleType) -> None:
        with self._lock:
            if self._installed:
                for name, ours in _OF_DYNAMO.items():
                    self._replace(dynamo, name, ours)

    def _replace(self, module: ModuleType, name: str, ours: Callable[..., Any]) -> None:
        original = getattr(module, name, None)
        if original is None or any(m is module and n == name for m, n, _ in self._originals):
            return
        self._originals.append((module, name, original))
        # Named as torch's function: tools look a function up by its name.
        stand_in = functools.wraps(original)(_forwarding(ours))
        setattr(module, name, stand_in)


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
