"""torch's operator and module databases under eager, Ferrodyn and torch.compile.

    python benches/opinfo/run.py                          both databases, both backends, float32
    python benches/opinfo/run.py 'nn.functional.*'        entries whose names match
    python benches/opinfo/run.py 'module:*'               the module database
    python benches/opinfo/run.py --backend aot_eager --dtype float64 --jobs 4
    python benches/opinfo/run.py --dynamic                sizes, ints and floats that may change
    python benches/opinfo/run.py --shard 1/4              the first of four parts

Each sample of an operator is called as a function, as a method and in place, each pair of
arguments of a module in training and in evaluation, forward and backward. Results, gradients,
inputs and buffers afterwards are compared bit by bit: values (a NaN is a NaN), types, dtypes,
strides, `requires_grad`. Where Ferrodyn differs from eager or raises, torch.compile is asked with
the same backend. The command fails where Ferrodyn differs or raises and torch.compile does neither.

The backend `plain` gives the graph back. Workers are processes of their own; one that dies, or is
silent for too long, is reported with the program that it ran.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import queue
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="patterns of names; none: all entries")
    parser.add_argument("--backend", action="append", help="plain, aot_eager, ... (repeatable)")
    parser.add_argument("--dtype", action="append", help="float32, ... (repeatable)")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--limit", type=int, default=0, help="samples of an entry; 0: all")
    parser.add_argument("--no-backward", action="store_true", help="the forward pass only")
    parser.add_argument("--dynamic", action="store_true", help="compile with dynamic=True")
    parser.add_argument("--shard", default="1/1", metavar="I/N", help="the I-th of N parts")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for a program")
    parser.add_argument("--json", type=Path, help="write all that is not the same to this file")
    return parser.parse_args()


def _names(options: argparse.Namespace) -> list[str]:
    """Names of the entries that are asked for, of this shard."""
    sys.path.insert(0, str(_HERE))
    from programs import databases

    patterns = options.names or ["*"]
    names = [n for n in databases() if any(fnmatch.fnmatch(n, p) for p in patterns)]
    part, count = (int(number) for number in options.shard.split("/"))
    return names[part - 1 :: count]


def _worker(options: argparse.Namespace, backend: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(_HERE / "worker.py"), "--backend", backend]
    command += ["--device", options.device, "--limit", str(options.limit)]
    command += ["--no-backward"] if options.no_backward else []
    command += ["--dynamic"] if options.dynamic else []
    command += ["--dtypes", *(options.dtype or ["float32"])]
    pipe = subprocess.PIPE
    null = subprocess.DEVNULL
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=null, text=True)


def _records(
    options: argparse.Namespace, backend: str, names: queue.SimpleQueue[str]
) -> Iterator[dict[str, Any]]:
    """What workers say, one after the other, until no name is left."""
    while not names.empty():
        with _worker(options, backend) as worker:
            yield from _talk(options, worker, names)
            worker.stdin.close()


def _talk(
    options: argparse.Namespace, worker: subprocess.Popen[str], names: queue.SimpleQueue[str]
) -> Iterator[dict[str, Any]]:
    """Give a worker names until there are no more, or it dies."""
    heard = time.monotonic()
    finished = threading.Event()

    def watch() -> None:
        while not finished.wait(1):
            if time.monotonic() - heard > options.timeout:
                worker.kill()

    threading.Thread(target=watch, daemon=True).start()
    try:
        while True:
            try:
                name = names.get_nowait()
            except queue.Empty:
                return
            running: dict[str, Any] = {"entry": name}
            worker.stdin.write(f"{name}\n")
            worker.stdin.flush()
            for line in worker.stdout:
                heard = time.monotonic()
                record = json.loads(line)
                if "done" in record:
                    yield record
                    break
                if "begin" in record:
                    running = record
                yield record
            else:
                silent = time.monotonic() - heard
                late = silent > options.timeout
                text = "no end in time" if late else f"the process ended with {worker.wait()}"
                program = running.get("begin", "")
                yield {**running, "program": program, "verdict": "ours", "ferrodyn": text}
                return
    finally:
        finished.set()


def _run(options: argparse.Namespace, backend: str, names: list[str]) -> list[dict[str, Any]]:
    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
    for name in names:
        waiting.put(name)
    found: list[dict[str, Any]] = []
    done: list[str] = []

    def work() -> None:
        for record in _records(options, backend, waiting):
            if "done" in record:
                done.append(record["entry"])
                if len(done) % 50 == 0:
                    same = sum(r.get("verdict") == "same" for r in found)
                    print(f"  {len(done)} of {len(names)} entries, {same} the same", flush=True)
            if "verdict" in record or "unusable" in record:
                found.append({**record, "backend": backend})
            if record.get("verdict") == "ours":
                print(_row(record), flush=True)

    jobs = [threading.Thread(target=work) for _ in range(options.jobs)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    return found


def _row(record: dict[str, Any]) -> str:
    where = f"{record['entry']}  {record.get('dtype', '')}  {record.get('program', '')}"
    return f"  {where}: {record['ferrodyn']}"


def main() -> int:
    """Run what is asked for; give the exit status."""
    options = _options()
    names = _names(options)
    bad = 0
    differing = []
    for backend in options.backend or ["plain", "aot_eager"]:
        began = time.monotonic()
        print(f"{backend}: {len(names)} entries", flush=True)
        found = _run(options, backend, names)
        counts = Counter(record.get("verdict", "unusable") for record in found)
        text = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
        print(f"{backend}: {text or 'nothing'} ({time.monotonic() - began:.0f} s)", flush=True)
        bad += counts["ours"]
        differing += [record for record in found if record.get("verdict") != "same"]
    if options.json:
        options.json.write_text(json.dumps(differing, indent=1))
    if bad:
        print(f"{bad} programs differ or raise under Ferrodyn and not under torch.compile")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
