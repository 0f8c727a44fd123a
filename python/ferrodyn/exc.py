"""Every exception that Ferrodyn raises on its own account.

An exception raised by the user's function is never replaced by one of these: it
leaves the compiled function with the type, message and lines that eager gives it.
The native module raises these classes by name.

Where torch has a class of the same meaning, what is raised is an instance of that one too, so that
the ``except`` clauses of a program that was written for ``torch.compile`` hold: from the moment on
that ``torch._dynamo`` is imported, and below ``ferrodyn.install()`` always.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any, ClassVar

__all__ = [
    "ArchiveError",
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
    "TorchRuntimeError",
    "Unsupported",
    "UnsupportedPythonError",
    "UnsupportedTorchError",
]


#: Where torch keeps the classes that have the same meaning.
_TORCHS_MODULE = "torch._dynamo.exc"

#: Whether torch's module is imported for an exception's sake: `ferrodyn.install` sets it.
import_torchs = False


class FerrodynError(RuntimeError):
    """Base of every exception in this module."""

    #: The name of torch's class of the same meaning.
    _of_torch: ClassVar[str | None] = None
    #: The class of this module whose instance it is.
    _ours: ClassVar[type[FerrodynError]]
    #: The same with torch's class beside it, once somebody needed that.
    _joined: ClassVar[type[FerrodynError] | None] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._ours, cls._joined = cls, None

    def __new__(cls, *args: Any, **kwargs: Any) -> FerrodynError:
        made: Any = _with_torchs(cls)
        return super().__new__(made, *args, **kwargs)

    def __init__(self, *args: Any) -> None:
        # The constructor of torch's class takes other arguments.
        RuntimeError.__init__(self, *args)
        #: The text, where torch's exceptions have it.
        self.msg = str(args[0]) if args else ""

    def __reduce__(self) -> tuple[Any, ...]:
        return self._ours, self.args


FerrodynError._ours = FerrodynError


def _with_torchs(cls: type[FerrodynError]) -> type[FerrodynError]:
    """Return the class to make an instance of: `cls`, or that and torch's."""
    if cls._joined is not None or cls._of_torch is None:
        return cls._joined or cls
    if import_torchs:
        importlib.import_module(_TORCHS_MODULE)
    # The class is not there yet while the module is being imported.
    torchs = getattr(sys.modules.get(_TORCHS_MODULE), cls._of_torch, None)
    if torchs is None:
        return cls
    # What the constructors of torch's classes set and torch's own handlers read.
    fields = {
        "_torch_dynamo_tracer_output": None,
        "frame_exec_strategy": None,
        "apply_to_code": True,
        "real_stack": (),
        "first_useful_frame": None,
    }
    named = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
    joined: Any = type(cls.__name__, (cls, torchs), fields | named)
    joined._ours, cls._joined = cls, joined
    joined._joined = joined
    return joined


class ArchiveError(FerrodynError):
    """`ferrodyn.load` was given a file that `save` has not written, or that has changed since."""


class CompilationError(FerrodynError):
    """A function could not be compiled; base of the errors raised while compiling."""


class Unsupported(CompilationError):
    """A graph break where none is allowed: under ``fullgraph=True`` or ``optimize_assert``.

    The text holds the reason, the explanation, the hints and the user's stack; the
    same parts can be read as attributes.
    """

    _of_torch = "Unsupported"

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
            self._ours,
            (message, self.reason, self.explanation, self.hints, self.context),
        )


class TorchRuntimeError(Unsupported):
    """The same, where PyTorch raises for what an operation is given, in eager mode too."""

    _of_torch = "TorchRuntimeError"


class InternalError(CompilationError):
    """A fault inside Ferrodyn. Seen only under ``fullgraph=True``; else the frame runs plainly."""

    _of_torch = "InternalTorchDynamoError"


class TamperedCodeError(CompilationError):
    """A code object does not decode: its bytes are not what any compiler of CPython emits."""


class InvalidCallable(FerrodynError, TypeError):
    """What was given to ``compile`` is not something that can be compiled."""


class InvalidBackend(FerrodynError):
    """The backend is neither a callable nor a known name, or returned something not callable."""

    _of_torch = "InvalidBackend"


class BackendCompilerFailed(FerrodynError):
    """The backend raised. The original exception is ``inner_exception`` and ``__cause__``."""

    _of_torch = "BackendCompilerFailed"

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
        return self._ours, (message, self.inner_exception, self.backend_name)


class RecompileError(FerrodynError):
    """A recompilation was needed while ``config.error_on_recompile`` is set."""

    _of_torch = "RecompileError"


class FailOnRecompileLimitHit(FerrodynError):
    """The recompile limit was reached under ``fullgraph=True``, or while
    ``config.fail_on_recompile_limit_hit`` is set."""

    _of_torch = "FailOnRecompileLimitHit"


class ConfigError(FerrodynError, ValueError):
    """A value that a configuration option cannot take."""


class LogOptionError(FerrodynError, ValueError):
    """``FERRODYN_LOGS`` or ``logs.set_logs`` names a log that does not exist."""


class UnsupportedPythonError(FerrodynError, ImportError):
    """Ferrodyn does not run on this interpreter."""


class UnsupportedTorchError(FerrodynError, ImportError):
    """Ferrodyn does not work with the installed torch."""
