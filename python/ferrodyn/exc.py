"""Every exception that Ferrodyn raises on its own account.

An exception raised by the user's function is never replaced by one of these: it
leaves the compiled function with the type, message and lines that eager gives it.
The native module raises these classes by name.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "BackendCompilerFailed",
    "CompilationError",
    "ConfigError",
    "FailOnRecompileLimitHit",
    "FerrodynError",
    "InternalError",
    "InvalidBackend",
    "InvalidCallable",
    "LogOptionError",
    "RecompileError",
    "TamperedCodeError",
    "Unsupported",
    "UnsupportedPythonError",
    "UnsupportedTorchError",
]


class FerrodynError(RuntimeError):
    """Base of every exception in this module."""


class CompilationError(FerrodynError):
    """A function could not be compiled; base of the errors raised while compiling."""


class Unsupported(CompilationError):
    """A graph break where none is allowed: under ``fullgraph=True`` or ``optimize_assert``.

    The text holds the reason, the explanation, the hints and the user's stack; the
    same parts can be read as attributes.
    """

    #: What could not be captured, in one line.
    reason: str
    #: Why, in a sentence or two.
    explanation: str
    #: What the user can do about it.
    hints: tuple[str, ...]
    #: Values that help a developer of Ferrodyn.
    context: str

    def __init__(
        self,
        message: str = "",
        reason: str = "",
        explanation: str = "",
        hints: tuple[str, ...] = (),
        context: str = "",
    ) -> None:
        super().__init__(message)
        self.reason = reason or message
        self.explanation = explanation
        self.hints = tuple(hints)
        self.context = context

    def __reduce__(self) -> tuple[Any, ...]:
        message = self.args[0] if self.args else ""
        return (
            type(self),
            (message, self.reason, self.explanation, self.hints, self.context),
        )


class InternalError(CompilationError):
    """A fault inside Ferrodyn. Seen only under ``fullgraph=True``; else the frame runs plainly."""


class TamperedCodeError(CompilationError):
    """A code object does not decode: its bytes are not what any compiler of CPython emits."""


class InvalidCallable(FerrodynError, TypeError):
    """What was given to ``compile`` is not something that can be compiled."""


class InvalidBackend(FerrodynError):
    """The backend is neither a callable nor a known name, or returned something not callable."""


class BackendCompilerFailed(FerrodynError):
    """The backend raised. The original exception is ``inner_exception`` and ``__cause__``."""

    #: What the backend raised, where known.
    inner_exception: BaseException | None
    #: The backend's name.
    backend_name: str

    def __init__(
        self,
        message: str = "",
        inner_exception: BaseException | None = None,
        backend_name: str = "",
    ) -> None:
        super().__init__(message)
        self.inner_exception = inner_exception
        self.backend_name = backend_name

    def __reduce__(self) -> tuple[Any, ...]:
        message = self.args[0] if self.args else ""
        return type(self), (message, self.inner_exception, self.backend_name)


class RecompileError(FerrodynError):
    """A recompilation was needed while ``config.error_on_recompile`` is set."""


class FailOnRecompileLimitHit(FerrodynError):
    """The recompile limit was reached under ``fullgraph=True``, or while
    ``config.fail_on_recompile_limit_hit`` is set."""


class ConfigError(FerrodynError, ValueError):
    """A value that a configuration option cannot take."""


class LogOptionError(FerrodynError, ValueError):
    """``FERRODYN_LOGS`` or ``logs.set_logs`` names a log that does not exist."""


class UnsupportedPythonError(FerrodynError, ImportError):
    """Ferrodyn does not run on this interpreter."""


class UnsupportedTorchError(FerrodynError, ImportError):
    """Ferrodyn does not work with the installed torch."""
