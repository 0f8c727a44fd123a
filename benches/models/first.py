"""The first call of a model in a process of its own.

Below inductor once with no caches on the disk and once with those that the process before it left.
CPU seconds, those of the C++ compiler included, from behind `import torch` and the making of model
and inputs until the result is there: imports of the compilers are in it.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from typing import Any

import process


def measure(case: Any, options: argparse.Namespace) -> dict[str, Any]:
    """Return the seconds: `ours` and `theirs`; below inductor `ours again` and `theirs again`."""
    found: dict[str, Any] = {}
    for key, compiler in (("ours", "ferrodyn"), ("theirs", "torch")):
        with tempfile.TemporaryDirectory(prefix="models-") as caches:
            for suffix in ("", " again") if options.backend == "inductor" else ("",):
                # Without workers, all CPU time is the process's and that of children it waits for.
                said = process.run(
                    [f"--first={compiler}", case.name],
                    options,
                    caches,
                    TORCHINDUCTOR_COMPILE_THREADS="1",
                )
                found[f"{key}{suffix}"] = said["seconds"]
        found[f"{key} caches"] = said["caches"]
    return found


def call(options: argparse.Namespace) -> None:
    """Make the first call here, and print what it took."""
    import times
    import torch

    import models

    torch.set_num_threads(1)
    (name,) = options.names
    case = models.CASES[name]
    fn = case.build()
    if options.train and isinstance(fn, torch.nn.Module):
        fn.train()
    inputs = case.inputs(2)
    start = sum(os.times()[:4])
    compile = times.ours if options.first == "ferrodyn" else times.theirs
    target = compile(fn, options.backend)
    models.case.called(target, inputs, case.grad or options.train)
    seconds = sum(os.times()[:4]) - start
    counters = torch._dynamo.utils.counters
    caches = {
        name: counters[group][name]
        for group, name in (
            ("aot_autograd", "autograd_cache_hit"),
            ("aot_autograd", "autograd_cache_miss"),
            ("inductor", "fxgraph_cache_hit"),
            ("inductor", "fxgraph_cache_miss"),
        )
    }
    process.say({"seconds": seconds, "caches": caches})
