"""`OptimizedModule`: a compiled ``nn.Module`` instance.

It stands for the module it wraps: attributes, parameters, buffers, mode and length are
those of the wrapped module, in both directions. Hooks registered through it run around
the compiled call, hooks of the wrapped module inside it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from . import _core
from ._context import CompileOptions


def _call(self, *args, **kwargs):  # type: ignore[no-untyped-def] # as torch's is
    # Hooks of all modules run around the wrapped one, as they do in plain Python: once.
    own = (
        self._forward_hooks
        or self._forward_pre_hooks
        or self._backward_hooks
        or self._backward_pre_hooks
    )
    if not own and torch.nn.modules.module._has_any_global_hook():
        return self.forward(*args, **kwargs)
    return torch.nn.Module.__call__(self, *args, **kwargs)


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
        super().__init__()
        self._modules["_orig_mod"] = module
        self._connect(options)

    def _connect(self, options: CompileOptions | None) -> None:
        """Make `forward` call the wrapped module, compiled with `options`."""
        module = self._modules["_orig_mod"]
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
    def training(self) -> bool:  # type: ignore[override]
        """Whether the wrapped module is in training mode."""
        return self._orig_mod.training

    @training.setter
    def training(self, value: bool) -> None:
        if "_orig_mod" in self.__dict__.get("_modules", ()):
            self._modules["_orig_mod"].training = value

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
        # Without this, truth would be asked of `__len__`, which few modules have.
        return True

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
