"""Ferrodyn: fast capture of PyTorch programs.

``ferrodyn.compile`` turns a Python function or an ``nn.Module`` into FX graphs for
a backend, residual bytecode, and guards that say when the result may be reused.
The work is done by the native module ``ferrodyn._core``; this package gives it
names, type hints and documentation.

What does not live here: any knowledge of bytecode, guards or graphs.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from . import _version

if TYPE_CHECKING:
    from ._artifact_archive import load, save
    from ._explain import BreakReason, ExplainOutput

_version.check_platform()
_version.load_core()

from . import config, exc, logs  # noqa: E402
from ._api import (  # noqa: E402
    GuardFail,
    compile,
    disable,
    explain,
    graph_break,
    is_compiling,
    list_backends,
    optimize,
    optimize_assert,
    register_backend,
    reset,
)
from ._install import install, uninstall  # noqa: E402
from ._module import OptimizedModule  # noqa: E402
from ._version import __version__  # noqa: E402

__all__ = [
    "BreakReason",
    "ExplainOutput",
    "GuardFail",
    "OptimizedModule",
    "__version__",
    "compile",
    "config",
    "disable",
    "exc",
    "explain",
    "graph_break",
    "install",
    "is_compiling",
    "list_backends",
    "load",
    "logs",
    "optimize",
    "optimize_assert",
    "register_backend",
    "reset",
    "save",
    "uninstall",
]


def __getattr__(name: str) -> Any:
    # Few programs need these.
    if name in ("BreakReason", "ExplainOutput"):
        from . import _explain

        return getattr(_explain, name)
    if name in ("load", "save"):
        from . import _artifact_archive

        return getattr(_artifact_archive, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if _trace_folder := os.environ.get("FERRODYN_TRACE"):
    from . import _report

    _report.trace(_trace_folder)
