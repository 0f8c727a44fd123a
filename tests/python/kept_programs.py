"""Programs that tests run in processes of their own, which keep what is compiled in a folder."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import forked


def kept_in(folder: Path) -> dict[str, str]:
    """The environment of a process that keeps what is compiled in a folder."""
    return {
        **os.environ,
        "FERRODYN_CACHE": "1",
        "FERRODYN_CACHE_DIR": str(folder / "cache"),
        # Beside the folder: what torch compiles before any graph serves all tests of a run.
        "TORCHINDUCTOR_CACHE_DIR": str(folder.parent / "inductor"),
        "PYTHONPATH": str(Path(__file__).parent),
    }


def printed(folder: Path, *args: object, **env: str) -> Any:
    """What a program prints last, as JSON. `args`: those of the interpreter."""
    # The first has to compile.
    first = not (folder / "cache").exists()
    done = forked.run(args, env=kept_in(folder) | env, cwd=folder, compiles=first)
    assert done.returncode == 0, f"exit status {done.returncode}: {done.stderr[-3000:]}"
    return json.loads(done.stdout.splitlines()[-1])
