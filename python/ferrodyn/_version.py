"""Which Pythons and which torch Ferrodyn runs on; checked once, at import.

What does not live here: the check of torch's memory layouts, which the native
module does against the torch that is loaded.
"""

from __future__ import annotations

import importlib
import sys

from .exc import UnsupportedPythonError, UnsupportedTorchError

__version__ = "0.1.0"

#: CPython versions with a frame layout and an opcode table in the native module.
SUPPORTED_PYTHONS = ((3, 11), (3, 12), (3, 13), (3, 14), (3, 15))

#: The oldest torch whose tensors the native module can read.
MINIMUM_TORCH = (2, 10)


def check_python(
    version: tuple[int, ...] | None = None,
    implementation: str | None = None,
    gil: bool | None = None,
) -> None:
    """Raise :class:`UnsupportedPythonError` unless this interpreter is supported.

    The arguments default to those of the running interpreter.
    """
    version = tuple(sys.version_info[:3]) if version is None else version
    implementation = sys.implementation.name if implementation is None else implementation
    if gil is None:
        gil = "t" not in sys.abiflags
    names = ", ".join(f"{major}.{minor}" for major, minor in SUPPORTED_PYTHONS)
    if implementation != "cpython":
        raise UnsupportedPythonError(
            f"Ferrodyn works on CPython {names} only; this is {implementation}. "
            "It hooks CPython's frame evaluation (PEP 523), which no other implementation has."
        )
    if tuple(version[:2]) not in SUPPORTED_PYTHONS:
        raise UnsupportedPythonError(
            f"Ferrodyn supports CPython {names}; this is {'.'.join(map(str, version))}. "
            "Each version has its own bytecode and frame layout: install one of those."
        )
    if not gil:
        raise UnsupportedPythonError(
            "Ferrodyn needs the global interpreter lock; this is a free-threaded build of Python "
            f"{'.'.join(map(str, version))}. Install a build with the lock: CPython {names}."
        )


def check_interpreter() -> None:
    """Raise :class:`UnsupportedPythonError` in a subinterpreter.

    From 3.12 on the native module refuses by itself; 3.11 would crash at its end.
    """
    if sys.version_info >= (3, 12):
        return
    try:
        interpreters = importlib.import_module("_xxsubinterpreters")
    except ImportError:
        return
    if interpreters.get_current() != interpreters.get_main():
        raise UnsupportedPythonError("Ferrodyn runs in the main interpreter only.")


def check_torch(version: str) -> None:
    """Raise :class:`UnsupportedTorchError` unless torch ``version`` is supported."""
    release = version.split("+", 1)[0].split(".")
    try:
        found = (int(release[0]), int(release[1]))
    except (IndexError, ValueError):
        raise UnsupportedTorchError(
            f"cannot read the torch version {version!r}; Ferrodyn needs torch "
            f"{MINIMUM_TORCH[0]}.{MINIMUM_TORCH[1]} or newer."
        ) from None
    if found < MINIMUM_TORCH:
        raise UnsupportedTorchError(
            f"Ferrodyn needs torch {MINIMUM_TORCH[0]}.{MINIMUM_TORCH[1]} or newer; "
            f"torch {version} is installed. Upgrade with: pip install -U torch"
        )


def check_platform() -> None:
    """Check the interpreter first, then torch; import torch on the way."""
    check_python()
    check_interpreter()
    try:
        import torch
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise UnsupportedTorchError(
            "Ferrodyn needs torch, which is not installed. Install it with: pip install torch"
        ) from error
    check_torch(str(torch.__version__))


def load_core() -> None:
    """Load the native module; what it finds wrong with this Python becomes our error."""
    try:
        from . import _core  # noqa: F401
    except ImportError as error:
        if type(error).__name__ == "UnsupportedPythonError":
            raise UnsupportedPythonError(str(error)) from error
        if type(error).__name__ == "UnsupportedTorchError":
            raise UnsupportedTorchError(str(error)) from error
        raise
