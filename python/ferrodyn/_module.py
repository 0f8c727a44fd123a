"""`OptimizedModule`: a compiled ``nn.Module`` instance.

It stands for the module it wraps: attributes, parameters, buffers, mode and length are
those of the wrapped module, in both directions. Hooks registered through it run around
the compiled call, hooks of the wrapped module inside it.

Libraries ask for torch's class of the same name before they save, unwrap or train a
compiled module. That class is in ``torch._dynamo``, whose import costs about a second:
once somebody imports it, it becomes the base class of this one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

import torch

from . import _core
from ._context import CompileOptions
from ._when_imported import when_imported

T = TypeVar("T", bound=Callable[..., Any])


def _has_hooks(module: torch.nn.Module) -> bool:
    """Whether a call of the module runs hooks of its own around its `forward`."""
    return bool(
        module._forward_hooks
        or module._forward_pre_hooks
        or module._backward_hooks
        or module._backward_pre_hooks
    )


def _call(self, *args, **kwargs):  # type: ignore[no-untyped-def] # as torch's is
    # Hooks of all modules run around the wrapped one, as they do in plain Python: once.
    if not _has_hooks(self) and torch.nn.modules.module._has_any_global_hook():
        return self.forward(*args, **kwargs)
    return torch.nn.Module.__call__(self, *args, **kwargs)


def _wrapped_by(compiled: OptimizedModule) -> torch.nn.Module:
    module = compiled._modules["_orig_mod"]
    assert module is not None
    return module


class OptimizedModule(torch.nn.Module):
    """What :func:`ferrodyn.compile` returns for a module instance.

    The wrapped module is the submodule ``_orig_mod``, so keys of ``state_dict()`` begin
    with ``_orig_mod.``. ``options`` is None for a module that is disabled.
    """

    # Without Python where nothing but `forward` is to be run.
    __call__ = _core.make_module_call(_call)

    _OWN = frozenset({"_orig_mod", "_options", "forward"})

    def __init__(self, module: torch.nn.Module, options: CompileOptions | None) -> None:
        # `Module.__init__` sets attributes, which `__setattr__` would hand on to the
        # wrapped module: until the submodule is registered they are set on `self`.
        # Not `super()`: that of torch's class would do its own set-up.
        torch.nn.Module.__init__(self)
        self._modules["_orig_mod"] = module
        self._connect(options)

    def _connect(self, options: CompileOptions | None) -> None:
        """Make `forward` call the wrapped module, compiled with `options`."""
        module = _wrapped_by(self)
        entry: Callable[..., Any]
        if options is None:
            entry = _core.make_disabled(module.__call__)
        else:
            entry = _core.make_entry(module.__call__, options.context())
        if hasattr(module, "_initialize_hook") and hasattr(module, "_infer_parameters"):
            entry = _LazyCall(module, entry)
        object.__setattr__(self, "_options", options)
        object.__setattr__(self, "forward", entry)

    @property
    def training(self) -> bool:
        """Whether the wrapped module is in training mode."""
        return self._orig_mod.training

    @training.setter
    def training(self, value: bool) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        if "_orig_mod" in self.__dict__.get("_modules", ()):
            _wrapped_by(self).training = value

    def dynamo_ctx(self, target: T) -> T:
        """Compile a function, a method or a module as this module is compiled.

        torch's class has a decorator of this name, with which Lightning compiles the steps
        of a module.
        """
        from ._api import decorator

        return decorator(self._options)(target)

    @property
    def _compile_kwargs(self) -> dict[str, Any]:
        """The keywords with which `torch.compile` would compile the wrapped module alike.

        Lightning's Fabric takes a compiled module out of its wrapper, sets it up, and compiles
        it again, with `torch.compile` and these.
        """
        if (given := self.__dict__.get("_given_kwargs")) is not None:
            return given
        return {"disable": True} if self._options is None else self._options.keywords()

    @_compile_kwargs.setter
    def _compile_kwargs(self, keywords: dict[str, Any]) -> None:
        # Lightning also notes them itself, where it was imported before the module was compiled.
        self.__dict__["_given_kwargs"] = keywords

    @property
    def _torchdynamo_orig_callable(self) -> Callable[..., Any]:
        """What a call comes to: `forward`, as for torch, or `__call__` where that runs hooks."""
        module = self._orig_mod
        return module.__call__ if _has_hooks(module) else module.forward

    @property
    def _torchdynamo_wrapper_id(self) -> int:
        return id(self)

    def __getattr__(self, name: str) -> Any:
        modules = self.__dict__.get("_modules")
        if modules is None or "_orig_mod" not in modules:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        module = modules["_orig_mod"]
        return module if name == "_orig_mod" else getattr(module, name)

    def __setattr__(self, name: str, value: Any) -> None:
        modules = self.__dict__.get("_modules", ())
        own = "_orig_mod" not in modules or name in self._OWN or name in self.__dict__
        if own or hasattr(type(self), name):
            super().__setattr__(name, value)
        else:
            setattr(modules["_orig_mod"], name, value)

    def __delattr__(self, name: str) -> None:
        if name in self._OWN or name in self.__dict__ or hasattr(type(self), name):
            super().__delattr__(name)
        else:
            delattr(self._orig_mod, name)

    def __len__(self) -> int:
        return len(self._orig_mod)

    def __bool__(self) -> bool:
        # Without this, truth would be asked of `__len__` here, which few modules have.
        return bool(self._orig_mod)

    def __getitem__(self, index: Any) -> Any:
        return self._orig_mod[index]

    def __iter__(self) -> Any:
        return iter(self._orig_mod)

    def __contains__(self, item: Any) -> bool:
        return item in self._orig_mod

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        # The native entry is made anew; everything else that is the wrapper's own
        # (hooks, above all) travels.
        own = {
            name: value
            for name, value in self.__dict__.items()
            if name not in ("forward", "_options", "_modules", "_parameters", "_buffers")
        }
        return type(self), (self._orig_mod, self._options), own

    def __getstate__(self) -> Any:
        return self.__reduce_ex__(4)[2]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


_core.call_modules_directly(OptimizedModule)


class _OfWrapped:
    """Hides what a base class has under a name: the attribute is that of the wrapped module."""

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        raise AttributeError("the attribute is looked up in the wrapped module")


def _become_torchs(eval_frame: ModuleType) -> None:
    """Make torch's `OptimizedModule` the base class of ours."""
    torchs = getattr(eval_frame, "OptimizedModule", None)
    if torchs is None:
        return
    try:
        OptimizedModule.__bases__ = (torchs,)
    except TypeError as error:
        logging.getLogger("ferrodyn").warning(
            "compiled modules do not pass for torch's OptimizedModule, so libraries do not "
            "unwrap them: %s",
            error,
        )
        return
    for name in vars(torchs):
        if not name.startswith("__") and name not in vars(OptimizedModule):
            setattr(OptimizedModule, name, _OfWrapped())
    # CPython has made the slots of the class anew.
    _core.call_modules_directly(OptimizedModule)


when_imported("torch._dynamo.eval_frame", _become_torchs)


class _LazyCall:
    """Call a lazy module: let it make its parameters first, outside the compiled region."""

    def __init__(self, module: torch.nn.Module, entry: Callable[..., Any]) -> None:
        self._module = module
        self._entry = entry

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        infer = getattr(self._module, "_infer_parameters", None)
        if infer is not None and hasattr(self._module, "_initialize_hook"):
            infer(self._module, args, kwargs)
        return self._entry(*args, **kwargs)
