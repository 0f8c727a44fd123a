"""What is kept of compilers from one process to the next, for people.

Lives here: `python -m ferrodyn cache`, and why a graph was not found. Does not live here: what an
artifact is (`_artifact`), when it is used (the native module).
"""

from __future__ import annotations

import difflib
import json
import logging
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from . import _core

#: What is told of a graph besides itself, and what people call it.
_PARTS = {"inputs": "inputs", "state": "state of torch or options", "surroundings": "surroundings"}
#: How much of a text is shown around what differs, in characters.
_AROUND = 60


def why_not(about: dict[str, str], manifests: Sequence[str]) -> str:
    """Return why none of these is the artifact of the graph that `about` tells of."""
    others = [_about(manifest) for manifest in manifests]
    others = [other for other in others if other.get("graph") == about["graph"]]
    if not others:
        return f"none is kept of the graph of {_calls(about)}"
    differ = [[part for part in _PARTS if part in o and o[part] != about[part]] for o in others]
    nearest = min(range(len(others)), key=lambda at: len(differ[at]))
    told = [
        f"other {_PARTS[part]}: {_difference(others[nearest][part], about[part])}"
        for part in differ[nearest]
    ]
    return f"one of the same graph ({_calls(about)}) is kept for {'; '.join(told)}"


def _about(manifest: str) -> dict[str, str]:
    try:
        return json.loads(manifest)["about"]
    except (ValueError, KeyError, TypeError):
        return {}


def _calls(about: dict[str, str]) -> str:
    """Return what a graph calls, in a few words."""
    counts = Counter(about.get("calls", "").split())
    shown = [name if n == 1 else f"{name} x{n}" for name, n in counts.most_common(4)]
    more = sum(counts.values()) - sum(n for _, n in counts.most_common(4))
    return ", ".join(shown) + (f" and {more} more" if more else "") or "no call"


def _difference(kept: str, now: str) -> str:
    """Return the first place where two texts differ."""
    match = difflib.SequenceMatcher(None, kept, now, autojunk=False)
    for kind, a, b, c, d in match.get_opcodes():
        if kind != "equal":
            start = max(0, a - _AROUND // 2), max(0, c - _AROUND // 2)
            return f"...{kept[start[0] : b + _AROUND]}... now ...{now[start[1] : d + _AROUND]}..."
    return "none"


def _folder() -> str:
    folder = _core.artifact_folder()
    if folder is None:
        sys.exit("neither FERRODYN_CACHE_DIR, XDG_CACHE_HOME nor HOME says where artifacts are")
    return str(folder)


def _counted(count: int, what: str = "artifact") -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _when(used: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(used))


def show() -> None:
    """Print a line for each capture and each artifact, of both those used last at the end."""
    folder = _folder()
    captures = _core.kept_captures(folder)
    for text, size, used in captures:
        print(f"{size / 1024:9.0f} KiB  {_when(used)}  capture    {text}")
    rows = _core.artifacts(folder)
    for _, size, used, manifest in rows:
        kept: dict[str, Any] = json.loads(manifest)
        kind = "training" if "backward" in kept else "inference"
        print(f"{size / 1024:9.0f} KiB  {_when(used)}  {kind:9}  {_calls(_about(manifest))}")
    total = sum(size for _, size, _ in captures) + sum(size for _, size, _, _ in rows)
    counted = f"{_counted(len(captures), 'capture')}, {_counted(len(rows))}"
    print(f"{counted}, {total / 2**20:.1f} MiB, in {folder}")


def verify() -> None:
    """Read all that is kept, and remove what has changed; exit with 1 where there was any."""
    whole, removed = _core.verify_artifacts(_folder())
    print(f"as written: {whole}, changed and removed: {removed}")
    if removed:
        sys.exit(1)


def clear() -> None:
    """Remove all artifacts and captures."""
    folder = _folder()
    captures, artifacts = len(_core.kept_captures(folder)), len(_core.artifacts(folder))
    _core.clear_artifacts(folder)
    print(f"{_counted(captures, 'capture')}, {_counted(artifacts)} removed from {folder}")


def explain(program: str, args: Sequence[str], *, is_module: bool) -> None:
    """Run a program as `run` does; say on stderr of each frame and graph whether it was found."""
    from . import _run, config

    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    for name, level in ("artifacts", logging.INFO), ("captures", logging.DEBUG):
        log = logging.getLogger(f"ferrodyn.{name}")
        log.addHandler(handler)
        log.setLevel(level)
        log.propagate = False
    config.cache = True
    _run.run(program, args, is_module=is_module)
