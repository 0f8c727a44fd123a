"""How a region is compiled: the choices that `compile` and its relatives take.

What does not live here: what becomes of them; the native ``Context`` does that.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from types import MethodType
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from . import _core
from .exc import InvalidBackend


class GuardFail(NamedTuple):
    """What a ``guard_fail_fn`` is told when cached code could not be reused."""

    #: The guard that failed, in words.
    reason: str
    #: The code object of the user's function.
    orig_code: Any


_Key = tuple[object, ...]

#: By what was chosen, where nothing else says how long code is kept: as long as it is in use.
_CONTEXTS: WeakValueDictionary[_Key, _core.Context] = WeakValueDictionary()

#: Of backends that have a name: until all is forgotten.
_NAMED: dict[_Key, _core.Context] = {}


#: How often all was forgotten.
_age = 0


def forget() -> None:
    """Keep no context any longer: what is compiled from here on shares none with code of before."""
    global _age
    _age += 1
    _NAMED.clear()


class _Kept(dict[_Key, _core.Context]):
    """Contexts of a backend that is an object: they go with it. A copy of it begins without."""

    def __init__(self) -> None:
        super().__init__()
        self.age = _age

    def __copy__(self) -> _Kept:
        return _Kept()

    def __deepcopy__(self, memo: object) -> _Kept:
        return _Kept()

    def __reduce__(self) -> tuple[Any, ...]:
        return _Kept, ()


def _contexts_of(backend: str | Callable[..., Any]) -> MutableMapping[_Key, _core.Context]:
    """Return where contexts of a backend are kept.

    Compiled code belongs to the function that it was made of, as in torch: ``compile(f)(x)`` in
    each step of a program compiles once. So a context lives as long as its backend does.
    """
    if isinstance(backend, str):
        return _NAMED
    attributes = getattr(getattr(backend, "__self__", backend), "__dict__", None)
    if type(attributes) is not dict:
        return _CONTEXTS
    kept = attributes.get("__ferrodyn_contexts__")
    if kept is None or kept.age != _age:
        kept = attributes["__ferrodyn_contexts__"] = _Kept()
    return kept


def _identity(backend: str | Callable[..., Any]) -> object:
    """Return what tells a backend from others, as long as it lives. A method is made anew."""
    if isinstance(backend, str):
        return backend
    if isinstance(backend, MethodType):
        return id(backend.__self__), id(backend.__func__)
    return id(backend)


def _frozen(options: dict[str, Any] | None) -> tuple[object, ...] | None:
    """Return options as a part of a key; None where they cannot be: a value may change."""
    items = sorted((options or {}).items())
    plain = all(isinstance(value, (bool, int, float, str, type(None))) for _, value in items)
    return tuple((name, type(value), value) for name, value in items) if plain else None


def _check_name(name: str) -> None:
    """Raise `InvalidBackend` for a name that no backend has, with the one that was meant."""
    if _core.is_always_there(name):
        return
    known = _core.list_backends(())
    if name not in known:
        import difflib

        close = difflib.get_close_matches(name, known, n=1)
        hint = f"Did you mean {close[0]!r}?" if close else f"There are: {', '.join(known)}."
        raise InvalidBackend(f"no backend is called {name!r}. {hint}")


@dataclass(frozen=True)
class CompileOptions:
    """Choices for one compiled region; pickles if the backend does."""

    backend: str | Callable[..., Any] = "inductor"
    fullgraph: bool = False
    dynamic: bool | None = None
    mode: str | None = None
    options: dict[str, Any] | None = None
    guard_fail_fn: Callable[[GuardFail], Any] | None = None
    recompile_limit: int | None = None
    isolate_recompiles: bool = False
    name: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.backend, str) and not callable(self.backend):
            raise InvalidBackend(
                "a backend is a callable (graph_module, example_inputs) -> callable, or one of "
                f"the names in ferrodyn.list_backends(); got {self.backend!r} "
                f"of type {type(self.backend).__name__}"
            )
        if isinstance(self.backend, str):
            _check_name(self.backend)
        if self.mode is not None and self.options is not None:
            raise RuntimeError(
                "mode and options cannot both be given: a mode is a named set of options"
            )

    def __deepcopy__(self, memo: object) -> CompileOptions:
        # A copy of a compiled module is compiled by the same backend object.
        return self

    def context(self) -> _core.Context:
        """Return a native context for these choices: one and the same as long as it is kept.

        Code that was compiled for one layer so serves the next, which was compiled separately.
        """
        options = _frozen(self.options)
        if options is None or self.isolate_recompiles:
            return self._new_context()
        choices = (self.fullgraph, self.dynamic, self.mode, self.name, self.recompile_limit)
        # The context keeps what is named by its address.
        key = (_identity(self.backend), *choices, options, id(self.guard_fail_fn))
        kept = _contexts_of(self.backend) if self.guard_fail_fn is None else _CONTEXTS
        context = kept.get(key)
        if context is None:
            context = kept[key] = self._new_context()
        return context

    def keywords(self) -> dict[str, Any]:
        """Return the choices that `torch.compile` has too, by the names of its arguments."""
        choices: dict[str, Any] = {
            "backend": self.backend,
            "fullgraph": self.fullgraph,
            "dynamic": self.dynamic,
            "mode": self.mode,
            "options": self.options,
        }
        # Not every torch has these.
        if self.recompile_limit is not None:
            choices["recompile_limit"] = self.recompile_limit
        if self.isolate_recompiles:
            choices["isolate_recompiles"] = True
        if self.name is not None:
            choices["name"] = self.name
        return choices

    def _new_context(self) -> _core.Context:
        further: dict[str, Any] = {}
        if self.mode is not None:
            further["mode"] = self.mode
        if self.name is not None:
            further["name"] = self.name
        if self.options is not None:
            # torch's own for its guards; the rest is the backend's.
            given = dict(self.options)
            if (keeps := given.pop("guard_filter_fn", None)) is not None:
                further["guard_filter_fn"] = keeps
            if given:
                further["options"] = given
        if self.recompile_limit is not None:
            further["recompile_limit"] = self.recompile_limit
        if (notify := self.guard_fail_fn) is not None:
            further["guard_fail_fn"] = lambda reason, code: notify(GuardFail(reason, code))
        return _core.Context(self.backend, self.fullgraph, self.dynamic, further)
