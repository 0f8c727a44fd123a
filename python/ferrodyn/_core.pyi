"""The native module. Not public: use the names in `ferrodyn`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

class Context:
    """The choices of one `compile`: shared by the entries made with it."""

    def __init__(
        self,
        backend: str | Callable[..., Any],
        fullgraph: bool = False,
        dynamic: bool | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Resolve the backend. Raises `InvalidBackend` for a name that is not known.

        Keys of `options`, each only where given: `mode` (a mode of the backend), `options`
        (a dict of the backend's options), `name` (what the backend calls the region),
        `guard_fail_fn` (called with the reason and the code object whenever cached code could
        not be reused).
        """

def make_entry(fn: Any, context: Context) -> Any:
    """Return a callable that stands for `fn` and compiles it on its first call."""

def make_disabled(fn: Any, *, recursive: bool = True) -> Any:
    """Return a callable that stands for `fn` and is never compiled.

    Unless `recursive`, what `fn` calls may be compiled all the same.
    """

def make_module_call(fn: Any) -> Any:
    """Return a `__call__` for a class of modules whose `forward` is an entry.

    `fn` is what it stands for, and runs where there are hooks.
    """

def call_modules_directly(cls: type) -> None:
    """Make calls of instances of a class find their `forward` at once.

    Its `__call__` is what :func:`make_module_call` gives.
    """

def is_entry(object: Any) -> bool:
    """Whether `make_entry` or `make_disabled` made it; then `__wrapped__` is the original."""

def reset() -> None:
    """Drop all compiled code, counters and marks of code that is not to be compiled."""

def list_backends(exclude_tags: Sequence[str]) -> list[str]:
    """Names of the backends that have none of the tags."""

def is_always_there(name: str) -> bool:
    """Whether any torch has a backend of this name: nothing has to be imported to know it."""

def default_backend() -> str | Callable[..., Any]:
    """What ``torch.compiler.set_default_backend`` was given; without it "inductor"."""

def register_backend(name: str, fn: Callable[..., Any], tags: Sequence[str]) -> None:
    """Give a backend a name. Raises `InvalidBackend` if another backend has it."""

def artifact_folder() -> str | None:
    """Where results of compilers are kept, or would be; None where the user has no such folder."""

def artifacts(folder: str) -> list[tuple[str, int, float, str]]:
    """Key, bytes, time of last use and manifest of each artifact, those used longest ago first."""

def kept_captures(folder: str) -> list[tuple[str, int, float]]:
    """Return what is told of each capture of a folder, its bytes and when it was used last."""

def kept_of(callable: Any) -> tuple[list[str], list[str]]:
    """Return the keys of artifacts, and of captures, made or taken while a callable ran."""

def read_capture(folder: str, key: str) -> tuple[bytes, list[str]] | None:
    """Return a capture that is as it was written, and the files whose contents it relies on."""

def add_capture(folder: str, capture: bytes) -> bool:
    """Keep a capture of another machine; whether it was. `ValueError` where it is none."""

def opaque_operator(operator: Any) -> str | None:
    """What compilers rely on of an operator of the program's; None where they look into it."""

def read_artifact(folder: str, key: str) -> tuple[str, str] | None:
    """Manifest and folder of the libraries of an artifact, where it is as it was written."""

def add_artifact(folder: str, manifest: str, libraries: list[tuple[str, bytes]]) -> None:
    """Keep an artifact by what its manifest says that it was made from."""

def verify_artifacts(folder: str) -> tuple[int, int]:
    """Remove the artifacts that have changed; how many were whole, and how many removed."""

def clear_artifacts(folder: str) -> None:
    """Remove all artifacts of a folder."""

def get_config() -> dict[str, Any]:
    """All options with their values, in a new dict."""

def set_config(options: Mapping[str, Any]) -> None:
    """Set options. Raises for a name or a type that is wrong, and then sets none."""

def explain_begin(all_threads: bool = False) -> None:
    """Start to record what compilations of this thread do."""

def explain_end(all_threads: bool = False) -> dict[str, Any]:
    """Stop, and return the record.

    Keys: `break_reasons` (dicts with `reason`, `explanation`, `hints`, `context` and
    `user_stack`, a list of strings), `out_guards` (strings), `compile_times` (seconds by
    phase), `instruction_counts` (by name), `fake_tensor_ops` (how often torch's fake tensors
    were asked, by operation).
    """

def is_compiling() -> bool:
    """True in code that is being compiled, False when run plainly."""

def graph_break(msg: str = "") -> None:
    """End the graph here; nothing when run plainly."""
