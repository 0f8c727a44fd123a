"""Random programs over classes, generators and tensors that share memory do what eager does.

`FERRODYN_SEEDS=0-5000` runs those seeds instead of the usual ones; a failure names its seed, and
`python tests/python/object_programs.py SEED` prints the program.
"""

from __future__ import annotations

import gc
import linecache
import sys
import types
from typing import Any

import harness
import object_programs
import pytest
import seeded
import torch


def _calls(namespace: dict[str, Any]) -> list[tuple[Any, ...]]:
    torch.manual_seed(5)
    calls = []
    for n, kind in ((2, "Left"), (2, "Left"), (3, "Both"), (0, "Right"), (2, "Left")):
        base = torch.randn(3, 3)
        bag = namespace["Bag"]({1: 5, "k": 1})
        calls.append((base[:2], base[1:] * 1, n, [1, n], namespace[kind](n), bag))
    # Two views of one tensor.
    calls.append((base[:2], base[1:], 1, [], namespace["Left"](1, 2, a=3), bag))
    return calls


def _run(seed: int, text: str, compiled: bool) -> Any:
    file = f"<objects {seed}>"
    # Tracebacks and graph breaks show source lines.
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    module = types.ModuleType("object_program")
    sys.modules["object_program"] = module
    namespace = vars(module)
    exec(compile(text, file, "exec"), namespace)
    fn = namespace["fn"]
    if compiled:
        harness.reset()
        fn = harness.compile(fn, backend=harness.Recorder())

    def state() -> Any:
        # A frame that an exception holds may be part of a cycle, in eager too.
        gc.collect()
        return [namespace[name] for name in ("events", "total", "table")]

    # Cycles end between the calls only, and collections look at nothing but what the program made.
    gc.disable()
    gc.freeze()
    try:
        return harness.run_calls(fn, _calls(namespace), file, state, backward=False)
    finally:
        gc.unfreeze()
        gc.enable()


def _text(seed: int) -> str:
    return object_programs.Program(seed).text


@pytest.mark.own
@pytest.mark.parametrize(
    "seeds", seeded.batches("0-60", 20), ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}"
)
def test_program_is_eager(seeds: range) -> None:
    """Each program does what it does without compilation, with and without graph breaks."""
    seeded.check(seeds, _text, _run)
