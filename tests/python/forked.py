"""Programs in processes of their own, without the seconds that each would import torch for.

A process that has imported torch, and nothing else, forks one for each program. Two of them take
turns: what one program leaves for the next finds other addresses and another seed of hashes.
A third has imported inductor as well.

Not here: programs about an interpreter's start, its options or what is imported. They start one.
"""

from __future__ import annotations

import atexit
import functools
import itertools
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

#: The environment of the processes that fork.
ENVIRONMENT = dict(os.environ)

#: What an interpreter, or a library that comes with torch, reads while it starts.
READ_AT_START = ("PYTHON", "TORCH_", "OMP_", "MKL_", "OPENBLAS_", "LD_", "CUDA_", "MALLOC_")


class Server:
    """A process that forks: see `fork_server.py`."""

    def __init__(self, *modules: str) -> None:
        program = Path(__file__).with_name("fork_server.py")
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-X", "faulthandler", program, *modules],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # An answer that has come is seen by `select`.
            bufsize=0,
            env={name: value for name, value in ENVIRONMENT.items() if name != "PYTHONPATH"},
        )
        atexit.register(self.close)

    def close(self) -> None:
        """It ends by itself: there are no more requests."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def ask(self, request: object, seconds: float) -> int | None:
        """Return its answer; None if that takes longer."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        return self.answer(seconds)

    def answer(self, seconds: float) -> int | None:
        assert self.process.stdout
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            return None
        return int(self.process.stdout.readline())


_TURNS = itertools.cycle(range(2))


@functools.cache
def _server(turn: int) -> Server:
    return Server("torch")


@functools.cache
def _with_inductor() -> Server:
    return Server("torch", "torch._inductor.compile_fx")


def _at_start(env: Mapping[str, str]) -> dict[str, str]:
    named = {name: value for name, value in env.items() if name.startswith(READ_AT_START)}
    named.pop("PYTHONPATH", None)
    return named


def run(
    args: Sequence[object],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout: float = 900,
    check: bool = False,
    compiles: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Do what `subprocess.run([sys.executable, *args])` does; `args` begin with no option but `-c`
    or `-m`. `compiles`: whether it will need inductor anyway."""
    env = os.environ if env is None else env
    args = [str(arg) for arg in args]
    if _at_start(env) != _at_start(ENVIRONMENT):
        return subprocess.run(
            [sys.executable, "-X", "faulthandler", *args],
            capture_output=True,
            text=True,
            timeout=timeout,
            env=env,
            cwd=cwd,
            check=check,
        )
    server = _with_inductor() if compiles else _server(next(_TURNS))
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        request = {
            "args": args,
            "env": dict(env),
            "cwd": str(cwd or Path.cwd()),
            "files": [f"/proc/{os.getpid()}/fd/{file.fileno()}" for file in (out, err)],
        }
        pid = server.ask(request, 300)
        assert pid is not None, "the process that forks does not answer"
        status = server.answer(timeout)
        if status is None:
            os.killpg(pid, signal.SIGKILL)
            server.answer(60)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    if status is None:
        raise subprocess.TimeoutExpired(args, timeout, *texts)
    done = subprocess.CompletedProcess(args, status, *texts)
    if check:
        done.check_returncode()
    return done
