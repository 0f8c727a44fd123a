"""Programs made from seeds, over far more of the language than a hypothesis strategy lists.

`FERRODYN_SEEDS=0-5000` runs those seeds instead of the usual ones; a failure names its seed, and
`python tests/python/program_generator.py SEED` prints the program.
"""

from __future__ import annotations

import linecache
from typing import Any

import harness
import program_generator
import pytest
import seeded
import torch


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


def _text(seed: int) -> str:
    return program_generator.Generator(seed, breaks=seed % 3 != 0).program()


@pytest.mark.own
@pytest.mark.parametrize(
    "seeds", seeded.batches("0-200", 25), ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}"
)
def test_program_is_eager(seeds: range) -> None:
    """Each program does what it does without compilation, with and without graph breaks."""
    seeded.check(seeds, _text, _run)
