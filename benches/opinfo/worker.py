"""Runs entries of the databases that it is given by name; prints a line of JSON about each program.

A process of its own: `run.py` starts it, and goes on with the next entry where it dies.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from typing import Any

import ferrodyn
import torch
from compare import Observed, difference
from programs import databases


def plain_backend(gm: torch.fx.GraphModule, example_inputs: list[Any]) -> Any:
    """A backend that gives the graph back."""
    return gm.forward


class Worker:
    """Runs programs under eager, Ferrodyn and, where that differs, `torch.compile`."""

    def __init__(self, options: argparse.Namespace, stream: Any) -> None:
        self.options = options
        self.stream = stream
        self.settings = {
            "backend": plain_backend if options.backend == "plain" else options.backend,
            "dynamic": True if options.dynamic else None,
        }

    def say(self, **record: Any) -> None:
        """Print a record."""
        print(json.dumps(record), file=self.stream, flush=True)

    def entry(self, name: str, entry: Any, programs: Any) -> None:
        """Run all programs of an entry."""
        for dtype_name in self.options.dtypes:
            dtype = getattr(torch, dtype_name)
            supported = getattr(entry, "dtypes", None)
            if supported is not None and dtype not in supported:
                continue
            try:
                found = list(programs(entry, dtype, self.options.device, self.options.limit))
            except Exception as error:
                self.say(entry=name, dtype=dtype_name, unusable=repr(error)[:200])
                continue
            for program in found:
                self.say(entry=name, dtype=dtype_name, begin=program.name)
                self.program(name, dtype_name, program)
        ferrodyn.reset()
        torch._dynamo.reset()

    def program(self, name: str, dtype: str, program: Any) -> None:
        """Run one program."""
        backward = not self.options.no_backward

        def observe(wrap: Any) -> Observed:
            return program.observe(wrap, backward)

        def run(wrap: Any) -> str | None:
            """How the call through `wrap` differs from eager."""
            return difference(observe(lambda f: f), observe(wrap))

        def ours(function: Any) -> Any:
            return ferrodyn.compile(function, **self.settings)

        text = run(ours)
        record = {"entry": name, "dtype": dtype, "program": program.name}
        if text is None:
            self.say(**record, verdict="same")
        elif run(lambda f: f) is not None or self.is_uninitialized(run, ours):
            # Memory that nothing was written to, time.
            self.say(**record, verdict="eager differs from itself", ferrodyn=text)
        else:
            torch._dynamo.reset()
            reference = run(lambda f: torch.compile(f, **self.settings))
            verdict = "ours" if reference is None else "torch too"
            self.say(**record, verdict=verdict, ferrodyn=text, torch=reference)

    def is_uninitialized(self, run: Any, ours: Any) -> bool:
        """Whether nothing differs where torch fills memory that nothing was written to."""
        torch.use_deterministic_algorithms(True, warn_only=True)
        try:
            return run(ours) is None
        finally:
            torch.use_deterministic_algorithms(False)


def main() -> None:
    """Run the entries named on standard input."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", required=True)
    parser.add_argument("--dtypes", nargs="+", required=True)
    parser.add_argument("--device", required=True)
    parser.add_argument("--limit", type=int, required=True)
    parser.add_argument("--no-backward", action="store_true")
    parser.add_argument("--dynamic", action="store_true")
    options = parser.parse_args()
    # What programs print is not ours.
    stream, sys.stdout = sys.stdout, sys.stderr
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    entries = databases()
    worker = Worker(options, stream)
    for line in sys.stdin:
        name = line.strip()
        worker.say(entry=name, started=True)
        worker.entry(name, *entries[name])
        worker.say(entry=name, done=True)


if __name__ == "__main__":
    main()
