"""A model in a process of its own, with a folder of caches that others share."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

_MARK = "@@said "


def run(
    arguments: list[str], options: argparse.Namespace, caches: str, **environment: str
) -> dict[str, Any]:
    """Return what a process said by `say`; `arguments` are those of run.py, a model included."""
    command = [sys.executable, str(Path(__file__).with_name("run.py")), *arguments]
    command += [f"--backend={options.backend}", *(["--train"] if options.train else [])]
    folders = {
        "TORCHINDUCTOR_CACHE_DIR": caches,
        "FERRODYN_CACHE": "1",
        "FERRODYN_CACHE_DIR": f"{caches}/ferrodyn",
        "PYTHONHASHSEED": "0",
    }
    done = subprocess.run(
        command,
        env={**os.environ, **folders, **environment},
        capture_output=True,
        text=True,
        timeout=options.timeout,
    )
    for line in done.stdout.splitlines():
        if line.startswith(_MARK):
            return json.loads(line[len(_MARK) :])
    raise RuntimeError(f"process ended with {done.returncode}: {done.stderr[-300:]}")


def say(what: dict[str, Any]) -> None:
    """Tell the process that has started this one."""
    print(f"{_MARK}{json.dumps(what)}", flush=True)
