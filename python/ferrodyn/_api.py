"""The functions a user calls: `compile` and its relatives.

They check their arguments and hand them to the native module.
"""

from __future__ import annotations

import functools
import os
import types
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar, overload

import torch

from . import _context, _core
from ._context import CompileOptions, GuardFail
from ._module import OptimizedModule
from ._when_imported import when_imported
from .exc import InvalidBackend, InvalidCallable

if TYPE_CHECKING:
    from ._explain import ExplainOutput

T = TypeVar("T", bound=Callable[..., Any])

#: True inside a region that Ferrodyn is compiling, else False.
is_compiling = _core.is_compiling

#: End the graph here; a no-op outside compiled code. ``graph_break(msg="")``.
graph_break = _core.graph_break


#: Callables of C, and operators, whose call torch writes in Python but never compiles.
_WITHOUT_CODE = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.MethodWrapperType,
    types.WrapperDescriptorType,
    torch._ops.OpOverload,
    torch._ops.OpOverloadPacket,
)


def _apply(target: Any, make: Callable[[Any], Any], options: CompileOptions | None) -> Any:
    """Compile (or disable) whatever kind of callable `target` is."""
    if isinstance(target, torch.nn.Module):
        return OptimizedModule(_original(target), options)
    if isinstance(target, type):
        # Instances are made as before; calling one is what is compiled.
        name = "_call_impl" if issubclass(target, torch.nn.Module) else "__call__"
        method = getattr(target, name, None)
        if method is None or not callable(getattr(method, "__get__", None)):
            raise InvalidCallable(
                f"instances of {target.__qualname__} cannot be called, so there is nothing to "
                "compile; compile its methods one by one, or give it a __call__"
            )
        setattr(target, name, make(method))
        return target
    if not callable(target) and not isinstance(target, (staticmethod, classmethod)):
        raise InvalidCallable(
            f"expected a function, a method, a callable or an nn.Module, got {target!r} "
            f"of type {type(target).__name__}"
        )
    if options is not None and _has_no_code(target):
        return make(_caller(target))
    return make(target)


def _has_no_code(target: Any) -> bool:
    """Whether a call of `target` runs no Python code that could be compiled: ``torch.sin``."""
    while isinstance(target, functools.partial):
        target = target.func
    return isinstance(target, _WITHOUT_CODE)


def _caller(target: Any) -> Any:
    """Return a function that does nothing but call `target`."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return target(*args, **kwargs)

    # Code of its own: compiled code, and the limit of recompilations, belong to a code object.
    call.__code__ = call.__code__.replace()
    return functools.update_wrapper(call, target, updated=())


def _original(module: torch.nn.Module) -> torch.nn.Module:
    """Return the module that the user wrote: compiling twice replaces the first choices."""
    while isinstance(module, OptimizedModule):
        module = module._orig_mod
    return module


def _switched_off() -> bool:
    """Whether the environment says now that nothing is to be compiled, as it does to torch."""
    return os.environ.get("TORCHDYNAMO_DISABLE", "") == "1"


def decorator(options: CompileOptions | None) -> Callable[[T], T]:
    """Return what compiles with `options`, or what disables where they are None.

    An unknown backend is an error here, not at the call.
    """
    if options is None:
        return disable()
    context = options.context()

    def decorate(target: T) -> T:
        return _apply(target, lambda fn: _core.make_entry(fn, context), options)

    return decorate


@overload
def compile(
    model: T,
    *,
    fullgraph: bool = ...,
    dynamic: bool | None = ...,
    backend: str | Callable[..., Any] | None = ...,
    mode: str | None = ...,
    options: dict[str, Any] | None = ...,
    name: str | None = ...,
    disable: bool = ...,
    recompile_limit: int | None = ...,
    isolate_recompiles: bool = ...,
    dynamic_shapes: None = ...,
) -> T: ...
@overload
def compile(
    model: None = None,
    *,
    fullgraph: bool = ...,
    dynamic: bool | None = ...,
    backend: str | Callable[..., Any] | None = ...,
    mode: str | None = ...,
    options: dict[str, Any] | None = ...,
    name: str | None = ...,
    disable: bool = ...,
    recompile_limit: int | None = ...,
    isolate_recompiles: bool = ...,
    dynamic_shapes: None = ...,
) -> Callable[[T], T]: ...
def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    dynamic_shapes: None = None,
) -> Any:
    """Compile a function, a method, a callable, or an ``nn.Module``.

    Works as a call and as a decorator, with and without arguments. The choices mean what
    they mean to ``torch.compile``:

    Args:
        model: what to compile; without it a decorator is returned.
        fullgraph: raise :class:`ferrodyn.exc.Unsupported` at a graph break.
        dynamic: None: an int, or the size of a tensor's dimension, is a constant until it is
            seen with another value; then the graph is for all values. False: they are
            constants; True: none is, but for the sizes 0 and 1.
        backend: a callable ``(graph_module, example_inputs) -> callable``, or a name from
            :func:`list_backends`. None is what ``torch.compiler.set_default_backend`` was
            given, else "inductor".
        mode: a mode of the backend, such as ``"reduce-overhead"``; not with ``options``.
        options: options of the backend; not with ``mode``.
        name: what the backend is to call the region in what it writes; goes to each call of it.
        disable: return ``model`` as it is.
        recompile_limit: how often each function may be compiled; beyond that it runs in eager
            mode. None: ``ferrodyn.config.recompile_limit``.
        isolate_recompiles: share no compiled code, and no limit, with what was compiled with the
            same choices elsewhere.
        dynamic_shapes: not supported; mark sizes on the tensors themselves.

    Where ``TORCHDYNAMO_DISABLE=1`` is set, ``model`` is returned as it is.

    Raises:
        NotImplementedError: ``dynamic_shapes`` was given.
        InvalidBackend: the backend is unknown or not callable.
        InvalidCallable: ``model`` is not something that can be compiled.
    """
    if dynamic_shapes is not None:
        raise NotImplementedError(
            "ferrodyn.compile does not take dynamic_shapes: mark the sizes on the tensors, with "
            "torch._dynamo.mark_dynamic(tensor, dim, min=..., max=...), or pass dynamic=True"
        )
    if disable or _switched_off():
        return (lambda target: target) if model is None else model
    decorate: Callable[[Any], Any] = decorator(
        CompileOptions(
            backend=_core.default_backend() if backend is None else backend,
            fullgraph=fullgraph,
            dynamic=dynamic,
            mode=mode,
            options=options,
            name=name,
            recompile_limit=recompile_limit,
            isolate_recompiles=isolate_recompiles,
        )
    )
    return decorate if model is None else decorate(model)


def optimize(
    backend: str | Callable[..., Any] = "inductor",
    *,
    nopython: bool = False,
    guard_fail_fn: Callable[[GuardFail], Any] | None = None,
    disable: bool = False,
    dynamic: bool | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
) -> Callable[[T], T]:
    """Return a decorator that compiles with ``backend``: ``@ferrodyn.optimize(my_compiler)``.

    Args:
        backend: as for :func:`compile`.
        nopython: raise at a graph break, as ``fullgraph`` does.
        guard_fail_fn: called with a :class:`GuardFail` whenever cached code could not be
            reused; an exception in it is reported and does not stop the call.
        disable: return what is decorated as it is.
        dynamic: as for :func:`compile`.
        mode: as for :func:`compile`.
        options: as for :func:`compile`.
    """
    if disable or _switched_off():
        return lambda target: target
    return decorator(
        CompileOptions(
            backend=backend,
            fullgraph=nopython,
            dynamic=dynamic,
            mode=mode,
            options=options,
            guard_fail_fn=guard_fail_fn,
        )
    )


def optimize_assert(
    backend: str | Callable[..., Any] = "inductor",
    *,
    guard_fail_fn: Callable[[GuardFail], Any] | None = None,
    dynamic: bool | None = None,
) -> Callable[[T], T]:
    """Return a decorator that compiles into one graph or raises: ``optimize(nopython=True)``."""
    return optimize(backend, nopython=True, guard_fail_fn=guard_fail_fn, dynamic=dynamic)


def explain(fn: Callable[..., Any]) -> Callable[..., ExplainOutput]:
    """Return a function that runs ``fn`` once, captured anew, and says what happened.

    ``print(ferrodyn.explain(fn)(*args))`` shows each break with its line, why, and what to change,
    the graphs as Python, the guards by kind, what was specialised, and how long each stage took;
    a notebook shows a page. Compiled code that exists stays as it is.
    """
    from . import _explain

    return _explain.explain(fn)


@overload
def disable(fn: T, recursive: bool = ..., *, reason: str | None = ...) -> T: ...
@overload
def disable(
    fn: None = None, recursive: bool = ..., *, reason: str | None = ...
) -> Callable[[T], T]: ...
def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Keep a function, or a module, out of compilation.

    Args:
        fn: what to disable; without it a decorator is returned.
        recursive: also keep out everything that it calls. If False, only the frame of
            ``fn`` itself runs plainly, and what it calls may be compiled.
        reason: shown where a graph breaks because of this.
    """

    def make(target: Any) -> Any:
        if recursive:
            disabled = _core.make_disabled(target)
        else:
            disabled = _core.make_disabled(target, recursive=False)
        if reason is not None and not isinstance(disabled, (staticmethod, classmethod)):
            disabled._torchdynamo_disable_msg = reason
        return disabled

    def decorate(target: Any) -> Any:
        return _apply(target, make, None)

    return decorate if fn is None else decorate(fn)


def _aot_compile(*args: Any, **kwargs: Any) -> Any:
    """Stand for the method of that name, which functions have that torch.compile has compiled."""
    raise NotImplementedError(
        "Ferrodyn compiles a function when it is called, and has no aot_compile: use torch.export "
        "with torch._inductor.aoti_compile_and_package, or call the function once to compile it"
    )


def reset() -> None:
    """Forget all compiled code and counters: the next call of each function compiles anew."""
    _context.forget()
    _core.reset()


def _reset_with_torchs(dynamo: ModuleType) -> None:
    """Make ``torch._dynamo.reset``, and with it ``torch.compiler.reset``, reset Ferrodyn too."""

    def both(torchs: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(torchs)
        def reset_both(*args: Any) -> None:
            torchs(*args)
            reset()

        return reset_both

    dynamo.reset = both(dynamo.reset)  # type: ignore[attr-defined]
    if (of_one_code := getattr(dynamo, "reset_code", None)) is not None:
        dynamo.reset_code = both(of_one_code)  # type: ignore[attr-defined]


when_imported("torch._dynamo", _reset_with_torchs)


def list_backends(exclude_tags: Sequence[str] = ("debug", "experimental")) -> list[str]:
    """Return the sorted names of all backends but those with a tag in ``exclude_tags``."""
    return sorted(_core.list_backends(tuple(exclude_tags or ())))


def register_backend(
    compiler_fn: Any = None, name: str | None = None, tags: Sequence[str] = ()
) -> Any:
    """Give a backend a name; works as a decorator with and without arguments.

    Args:
        compiler_fn: ``(graph_module, example_inputs) -> callable``.
        name: the name; ``compiler_fn.__name__`` if not given.
        tags: words by which :func:`list_backends` can leave it out.

    Returns:
        ``compiler_fn`` itself.

    Raises:
        InvalidBackend: not callable, or the name is taken by another backend.
    """

    def register(fn: Any) -> Any:
        if not callable(fn):
            raise InvalidBackend(f"a backend must be callable, got {fn!r}")
        try:
            _core.register_backend(name or fn.__name__, fn, tuple(tags))
        except AssertionError as error:
            # torch's registry, which is shared with torch.compile, says it this way.
            raise InvalidBackend(str(error)) from None
        return fn

    return register if compiler_fn is None else register(compiler_fn)
