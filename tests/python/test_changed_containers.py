"""Random programs that change containers from outside, go over them, and break in between.

Where an iterator stands, and what its container holds by then, are eager's behind every break.
"""

from __future__ import annotations

import collections
import copy
import itertools
import linecache
import os
import random
from types import SimpleNamespace
from typing import Any

import harness
import pytest
import torch

LISTS = ("a", "b", "o.items", "nested[0]")
DICTS = ("d", "o.table")
BREAKS = ('print("here")', "out.append(x[0].item())", "print(len(out))")


class Program:
    """The text of one program, by seed."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.lines = ["def fn(x, a, b, d, q, o, nested):", "    out = []"]
        self.names = map("v{}".format, itertools.count())
        for _ in range(3):
            self.block(1, 0)
        self.lines.append("    return out")
        self.text = "\n".join(self.lines) + "\n"

    def pick(self, *texts: str) -> str:
        return self.choose.choice(texts)

    def chance(self, share: float) -> bool:
        return self.choose.random() < share

    def line(self, text: str, indent: int) -> None:
        self.lines.append("    " * indent + text)

    def change(self) -> str:
        k = self.choose.randrange(6)
        c = self.pick(*LISTS, *DICTS, "q")
        if c in DICTS:
            return self.pick(
                f"{c}[{k}] = {k % 4}",
                f"{c}.pop({k}, None)",
                f"{c}.setdefault({k}, {k})",
                f"{c}.update({{{k}: 7}})",
                f"{c}.clear()",
                f"{c}.popitem() if {c} else None",
            )
        if c == "q":
            return self.pick(
                f"q.append({k})",
                f"q.appendleft({k})",
                "q.popleft() if q else None",
                "q.rotate(1)",
                f"q.extend([{k}, {k + 1}])",
            )
        return self.pick(
            f"{c}.append({k})",
            f"{c}.extend(({k}, {k + 1}))",
            f"{c}.pop() if {c} else None",
            f"{c}.insert(0, {k})",
            f"{c}[:] = [{k}, 1, 2]",
            f"{c}.reverse()",
            f"{c}.sort()",
            f"del {c}[:1]",
            f"{c} += [{k}]",
        )

    def items(self) -> str:
        c = self.pick(*LISTS, *DICTS, "q")
        if c in DICTS:
            c = self.pick(c, f"{c}.values()", f"{c}.items()", f"reversed({c})", f"list({c})")
        elif c == "q":
            c = self.pick(c, "reversed(q)")
        else:
            c = self.pick(c, f"reversed({c})", f"{c}[1:]", f"iter({c})")
        return self.pick(
            *(c,) * 8,
            f"enumerate({c})",
            f"zip({c}, {self.pick(*LISTS)})",
            f"map(str, {c})",
            f"(str(i) for i in {c})",
            f"itertools.chain({c}, b)",
            f"itertools.islice({c}, 1, None)",
        )

    def block(self, indent: int, depth: int) -> None:
        for _ in range(self.choose.randrange(1, 4)):
            kind = self.choose.random()
            if kind < 0.45:
                self.line(self.change(), indent)
            elif kind < 0.65:
                self.line(self.pick(*BREAKS, "out.append(x.sum())"), indent)
            elif kind < 0.85 and depth < 2:
                name = next(self.names)
                self.line(f"for {name} in {self.items()}:", indent)
                self.line(f"out.append({name})", indent + 1)
                # Some programs lengthen what they go over.
                self.line("if len(out) > 40: break", indent + 1)
                if self.chance(0.7):
                    self.line(self.pick(*BREAKS), indent + 1)
                if self.chance(0.3):
                    self.block(indent + 1, depth + 1)
            else:
                name = next(self.names)
                self.line(f"{name} = iter({self.items()})", indent)
                self.line(f"out.append(next({name}, None))", indent)
                self.line(self.pick(*BREAKS, self.change()), indent)
                self.line(f"out.append(next({name}, None))", indent)
                if self.chance(0.3):
                    self.line(f"out.append(list({name}))", indent)


def _seeds() -> list[int]:
    """40, or those of `FERRODYN_SEEDS` ("100-200")."""
    first, _, last = os.environ.get("FERRODYN_SEEDS", "0-40").partition("-")
    return list(range(int(first), int(last or int(first) + 1)))


def _arguments() -> list[Any]:
    around = SimpleNamespace(items=[1, 0], table={1: 1, 2: 0})
    x = torch.tensor([2, 3])
    return [x, [0, 1, 2], [5], {0: 1, 3: 2}, collections.deque([1, 2]), around, [[4, 1]]]


def _run(fn: Any) -> Any:
    arguments = _arguments()
    try:
        result = copy.deepcopy(fn(*arguments))
    except (RuntimeError, TypeError) as error:
        result = type(error).__name__, str(error)
    return repr((result, arguments))


@pytest.mark.parametrize("seed", _seeds())
def test_iterators_stand_where_eager_leaves_them(seed: int, capsys: pytest.CaptureFixture) -> None:
    text, file = Program(seed).text, f"<changed containers {seed}>"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    namespace: dict[str, Any] = {"itertools": itertools}
    exec(compile(text, file, "exec"), namespace)
    fn = namespace["fn"]
    expected = _run(fn), capsys.readouterr().out
    compiled = harness.compile(fn, backend=harness.Recorder())
    for _ in range(2):
        assert (_run(compiled), capsys.readouterr().out) == expected, text
