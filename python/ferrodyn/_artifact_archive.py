"""Carries what is kept of one function to another machine of the same kind.

Lives here: the file that `save` writes and `load` reads. Does not live here: what an artifact is
(`_artifact`), where it is kept and by what it is found (the native module).

Invariant: `load` takes a file whole or not at all, and only into the folder of kept artifacts,
where they are found by the same key as those that were made here.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from . import _artifact_state, _core, config
from .exc import ArchiveError

#: Goes up when the file changes its meaning.
_FORMAT = 1
_INDEX = "index.json"


def _folder() -> str:
    folder = _core.artifact_folder()
    if not config.cache or folder is None:
        raise RuntimeError("nothing is kept: config.cache is off, or there is no folder for it")
    return str(folder)


def _made_by() -> str:
    """Return what must be the same on both machines: versions, processor, this package."""
    digest = hashlib.sha256()
    for path in [*_artifact_state.own_files(), _core.__file__]:
        digest.update(hashlib.sha256(Path(path).read_bytes()).digest())
    return repr((_FORMAT, _artifact_state.machine(), digest.hexdigest()))


def _function(f: Any) -> Any:
    """Return the function that runs when `f` is called: what it wraps, or its `forward`."""
    while True:
        if isinstance(f, functools.partial):
            inner = f.func
        elif isinstance(f, torch.nn.Module):
            inner = getattr(f, "_orig_mod", f).forward
        else:
            inner = getattr(f, "_torchdynamo_orig_callable", f)
        if inner is f:
            return f
        f = inner


def save(f: Callable[..., Any], path: str | os.PathLike[str]) -> int:
    """Write what is kept of the graphs that were compiled while `f` ran in this process to a file.

    `f`: a compiled function or module, or the one that it was made of. Calls of it must have been
    made, and backward passes where gradients are wanted: a graph is kept when it is compiled.
    Returns how many graphs the file has; docs/warm-start.md says which are kept at all.

    Raises `TypeError` where `f` runs no Python code, `RuntimeError` where `config.cache` is off,
    `OSError`.
    """
    folder = _folder()
    artifacts = []
    files: dict[str, bytes] = {}
    for key in _core.artifacts_of(_function(f)):
        entry = _core.read_artifact(folder, key)
        if entry is None:
            continue
        manifest, libraries = entry
        named = {}
        for half in ("forward", "backward"):
            for name in json.loads(manifest).get(half, {}).get("kernels", {}).values():
                files[name] = Path(libraries, name).read_bytes()
                named[name] = hashlib.sha256(files[name]).hexdigest()
        artifacts.append({"manifest": manifest, "libraries": named})
    index = {"made by": _made_by(), "artifacts": artifacts}
    unfinished = f"{os.fspath(path)}.{os.getpid()}"
    try:
        with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(_INDEX, json.dumps(index))
            for name, contents in files.items():
                archive.writestr(f"libraries/{name}", contents)
        os.replace(unfinished, path)
    finally:
        Path(unfinished).unlink(missing_ok=True)
    return len(artifacts)


def load(path: str | os.PathLike[str]) -> int:
    """Keep the graphs of a file that `save` has written here, as if they had been compiled here.

    The file has machine code that later runs in this process: load only files whose origin you
    trust. Returns how many graphs were taken: none, with a warning, from a machine of another kind,
    or other versions of Python, torch or Ferrodyn.

    Raises `ArchiveError` for a file that is not what `save` has written, `RuntimeError` where
    `config.cache` is off, `OSError`.
    """
    folder = _folder()
    try:
        with zipfile.ZipFile(path) as archive:
            index = json.loads(archive.read(_INDEX))
            if index["made by"] != _made_by():
                warnings.warn(
                    f"{os.fspath(path)} is of another machine, or of other versions of Python, "
                    f"torch or Ferrodyn: nothing of it can be used here",
                    stacklevel=2,
                )
                return 0
            found = [_artifact(archive, about) for about in index["artifacts"]]
    except (zipfile.BadZipFile, KeyError, TypeError, ValueError) as error:
        raise ArchiveError(f"{os.fspath(path)} is not what was saved: {error}") from error
    for manifest, libraries in found:
        _core.add_artifact(folder, manifest, libraries)
    return len(found)


def _artifact(
    archive: zipfile.ZipFile, about: dict[str, Any]
) -> tuple[str, list[tuple[str, bytes]]]:
    """Return manifest and libraries of an artifact, as those that are made here have them."""
    manifest = json.loads(about["manifest"])
    manifest["about"]["surroundings"] = _artifact_state.surroundings()
    libraries = []
    for name, digest in about["libraries"].items():
        contents = archive.read(f"libraries/{name}")
        if Path(name).name != name:
            raise ValueError(f"a library can't be called {name}")
        if hashlib.sha256(contents).hexdigest() != digest:
            raise ValueError(f"{name} has changed")
        libraries.append((name, contents))
    return json.dumps(manifest), libraries
