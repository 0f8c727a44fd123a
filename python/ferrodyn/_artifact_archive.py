"""Carries what is kept of one function to another machine of the same kind.

Lives here: the file that `save` writes and `load` reads. Does not live here: what an artifact is
(`_artifact`), what a capture is, where both are kept and by what they are found (the native
module).

Invariant: `load` takes a file whole or not at all, and only into the folder of what is kept, where
it is found by the same keys as what was made here. A capture relies on the contents of files: it
is taken where they are the same here.
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
_FORMAT = 2
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
    """Write what is kept of all that was compiled while `f` ran in this process to a file.

    `f`: a compiled function or module, or the one that it was made of. Calls of it must have been
    made, and backward passes where gradients are wanted: a graph is kept when it is compiled.
    Returns how many entries the file has: captures, and what a compiler made of their graphs;
    docs/warm-start.md says which are kept at all.

    Raises `TypeError` where `f` runs no Python code, `RuntimeError` where `config.cache` is off,
    `OSError`.
    """
    folder = _folder()
    of_artifacts, of_captures = _core.kept_of(_function(f))
    files: dict[str, bytes] = {}
    index = {
        "made by": _made_by(),
        "artifacts": list(
            filter(None, (_packed_artifact(folder, key, files) for key in of_artifacts))
        ),
        "captures": list(
            filter(None, (_packed_capture(folder, key, files) for key in of_captures))
        ),
    }
    unfinished = f"{os.fspath(path)}.{os.getpid()}"
    try:
        with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(_INDEX, json.dumps(index))
            for name, contents in files.items():
                archive.writestr(name, contents)
        os.replace(unfinished, path)
    finally:
        Path(unfinished).unlink(missing_ok=True)
    return len(index["artifacts"]) + len(index["captures"])


def _packed_artifact(folder: str, key: str, files: dict[str, bytes]) -> dict[str, Any] | None:
    """Return what the index says of an artifact, and add its libraries to `files`."""
    entry = _core.read_artifact(folder, key)
    if entry is None:
        return None
    manifest, libraries = entry
    named = {}
    for half in ("forward", "backward"):
        for name in json.loads(manifest).get(half, {}).get("kernels", {}).values():
            contents = files[f"libraries/{name}"] = Path(libraries, name).read_bytes()
            named[name] = hashlib.sha256(contents).hexdigest()
    return {"manifest": manifest, "libraries": named}


def _packed_capture(folder: str, key: str, files: dict[str, bytes]) -> dict[str, Any] | None:
    """Return what the index says of a capture, and add it to `files`."""
    entry = _core.read_capture(folder, key)
    if entry is None:
        return None
    contents, relied_on = entry
    digest = hashlib.sha256(contents).hexdigest()
    files[f"captures/{digest}"] = contents
    return {"capture": digest, "relies on": {name: _contents(name) for name in relied_on}}


def _contents(file: str) -> str | None:
    """Return a digest of the contents of a file; None where it can't be read."""
    try:
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()
    except OSError:
        return None


def load(path: str | os.PathLike[str]) -> int:
    """Keep what is in a file that `save` has written here, as if it had been compiled here.

    The file has machine code and bytecode that later run in this process: load only files whose
    origin you trust. Returns how many entries were taken: none, with a warning, from a machine of
    another kind, or other versions of Python, torch or Ferrodyn. A capture is taken where the files
    that it relies on lie at the same places with the same contents.

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
            captures = [
                _read(archive, f"captures/{about['capture']}", about["capture"])
                for about in index["captures"]
                if all(_contents(name) == of for name, of in about["relies on"].items())
            ]
    except (zipfile.BadZipFile, AttributeError, KeyError, TypeError, ValueError) as error:
        raise ArchiveError(f"{os.fspath(path)} is not what was saved: {error}") from error
    for manifest, libraries in found:
        _core.add_artifact(folder, manifest, libraries)
    return len(found) + sum(_core.add_capture(folder, capture) for capture in captures)


def _read(archive: zipfile.ZipFile, name: str, digest: str) -> bytes:
    """Return a member of an archive, where it is what was written."""
    contents = archive.read(name)
    if hashlib.sha256(contents).hexdigest() != digest:
        raise ValueError(f"{name} has changed")
    return contents


def _artifact(
    archive: zipfile.ZipFile, about: dict[str, Any]
) -> tuple[str, list[tuple[str, bytes]]]:
    """Return manifest and libraries of an artifact, as those that are made here have them."""
    manifest = json.loads(about["manifest"])
    manifest["about"]["surroundings"] = _artifact_state.surroundings()
    libraries = []
    for name, digest in about["libraries"].items():
        if Path(name).name != name:
            raise ValueError(f"a library can't be called {name}")
        libraries.append((name, _read(archive, f"libraries/{name}", digest)))
    return json.dumps(manifest), libraries
