"""What tests of programs that are made from seeds share."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

import harness


def batches(default: str, size: int) -> list[range]:
    """Return the seeds `first-last` of `FERRODYN_SEEDS`, or of `default`, in ranges, one a test."""
    first, last = (int(part) for part in os.environ.get("FERRODYN_SEEDS", default).split("-"))
    return [range(at, min(at + size, last)) for at in range(first, last, size)]


def _plain(record: Any) -> Any:
    """Return the same without the addresses that an exception's text may name."""
    for call in record:
        if error := call.get("error"):
            error["text"] = re.sub(r"0x[0-9a-f]+", "0x", error["text"])
    return record


def check(
    seeds: range, text_of: Callable[[int], str], run: Callable[[int, str, bool], Any]
) -> None:
    """Fail with the seeds whose program differs; `run` takes seed, text, whether to compile."""
    failed = []
    for seed in seeds:
        text = text_of(seed)
        try:
            compile(text, "<seeded>", "exec")
        except SyntaxError:
            # An assignment expression came where Python allows none.
            continue
        plain, compiled = (_plain(run(seed, text, how)) for how in (False, True))
        if found := list(harness.differences(plain, compiled, "program")):
            failed.append(f"seed {seed}: {found[0][:300]}")
    assert not failed, "\n".join(failed)
