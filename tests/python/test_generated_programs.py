"""Programs made from seeds, over far more of the language than a hypothesis strategy lists.

`FERRODYN_SEEDS=0-5000` runs those seeds instead of the usual ones; a failure names its seed, and
`python tests/python/program_generator.py SEED` prints the program.
"""

from __future__ import annotations

import linecache
import os
import re
from typing import Any

import harness
import program_generator
import pytest
import torch

SEEDS = os.environ.get("FERRODYN_SEEDS", "0-200")
#: How many programs one test runs.
BATCH = 25


def _batches() -> list[range]:
    first, last = (int(part) for part in SEEDS.split("-"))
    return [range(at, min(at + BATCH, last)) for at in range(first, last, BATCH)]


def _calls(namespace: dict[str, Any], changes: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    torch.manual_seed(3)
    calls = []
    for change in changes:
        dtype = getattr(torch, change.get("dtype", "float32"))
        x = torch.randn(2, 3, dtype=dtype) + change.get("shift", 0)
        y = torch.randn(2, 3, dtype=dtype)
        if change.get("grad"):
            x.requires_grad_()
        o = namespace["O"](2)
        if change.get("last"):
            o.last = x
        calls.append(
            (
                x,
                x if change.get("same") else y,
                change.get("n", 2),
                change.get("s", "ab"),
                list(change.get("items", [1, 2, 3])),
                dict(change.get("table", {"a": 1})),
                o,
                change.get("flag", True),
            )
        )
    return calls


def _run(seed: int, text: str, compiled: bool) -> Any:
    file = f"<generated {seed}>"
    # Tracebacks and graph breaks show source lines.
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    namespace: dict[str, Any] = {"__name__": "generated"}
    exec(compile(text, file, "exec"), namespace)
    fn = namespace["fn"]
    if compiled:
        harness.reset()
        fn = harness.compile(fn, backend=harness.Recorder())
    state = lambda: [namespace[name] for name in ("state", "log", "total")]
    calls = _calls(namespace, program_generator.changes(seed))
    return harness.run_calls(fn, calls, file, state, backward=False)


def _plain(record: Any) -> Any:
    """The same without the addresses that an exception's text may name."""
    for call in record:
        if error := call.get("error"):
            error["text"] = re.sub(r"0x[0-9a-f]+", "0x", error["text"])
    return record


@pytest.mark.own
@pytest.mark.parametrize("seeds", _batches(), ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_program_is_eager(seeds: range) -> None:
    """Each program does what it does without compilation, with and without graph breaks."""
    failed = []
    for seed in seeds:
        text = program_generator.Generator(seed, breaks=seed % 3 != 0).program()
        try:
            compile(text, "<generated>", "exec")
        except SyntaxError:
            # An assignment expression came where Python allows none.
            continue
        plain, compiled = (_plain(_run(seed, text, how)) for how in (False, True))
        if found := list(harness.differences(plain, compiled, "program")):
            failed.append(f"seed {seed}: {found[0][:300]}")
    assert not failed, "\n".join(failed)
