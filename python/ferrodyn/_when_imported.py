"""Run a function right after somebody else imports a module, without importing it here.

What does not live here: what is to be done then.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


def when_imported(name: str, then: Callable[[ModuleType], None]) -> None:
    """Call ``then(module)`` once the module ``name`` has been imported; now, if it has been.

    Who waits already does not wait twice.
    """
    module = sys.modules.get(name)
    if module is not None:
        then(module)
        return
    # One finder for a module: two would ask each other.
    for finder in sys.meta_path:
        if isinstance(finder, _Finder) and finder.name == name:
            if then not in finder.thens:
                finder.thens.append(then)
            return
    sys.meta_path.insert(0, _Finder(name, then))


class _Finder(MetaPathFinder):
    """Finds one module where the other finders do, and has its import followed by calls."""

    def __init__(self, name: str, then: Callable[[ModuleType], None]) -> None:
        self.name = name
        self.thens = [then]

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self.name:
            return None
        for finder in [*sys.meta_path]:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = None if find is None else find(fullname, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _ThenCall(spec.loader, self._done)
                return spec
        return None

    def _done(self, module: ModuleType) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)
            for then in self.thens:
                then(module)


class _ThenCall(Loader):
    """Stands for a loader until the module has been executed; the module names the real one."""

    def __init__(self, loader: Loader, then: Callable[[ModuleType], None]) -> None:
        self._loader = loader
        self._then = then

    def __getattr__(self, name: str) -> object:
        # Who only looks for the module (`importlib.util.find_spec`) may ask for its source.
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._then(module)
