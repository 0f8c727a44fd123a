"""A program in several processes that know each other by `torch.distributed`."""

from __future__ import annotations

import os
import socket
import subprocess
import sys


def run_in_processes(count: int, program: str, seconds: int = 300) -> None:
    """Run a program in `count` processes; one that fails, fails the test with its last lines."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = {
        **os.environ,
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": str(count),
        "OMP_NUM_THREADS": "1",
    }
    started = [
        subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-W", "ignore", "-c", program],
            env={**env, "RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(count)
    ]
    try:
        for process in started:
            out, _ = process.communicate(timeout=seconds)
            assert process.returncode == 0, f"exit status {process.returncode}: {out[-3000:]}"
    finally:
        for process in started:
            process.kill()
