"""Random programs from rows, and random changes between their calls.

A program reads a few rows in one of several ways each: directly, in an inlined function, a
method, a loop, a comprehension, a generator, a lambda, a `try` block, a closure, after a graph
break. Between its calls things change, by this thread or another one, before the call or in the
middle of it.
"""

from __future__ import annotations

import random

from .rows import Row
from .run import ROWS, Step, number

SUPPORT = """
pending$ = []
@DISABLE
def middle$():
    for change in pending$:
        try:
            exec(change, globals())
        except Exception:
            pass
    pending$.clear()
class Reader$:
    def __init__(self, read):
        self.read = read
        self.count = 0
    def __call__(self, *args):
        self.count += 1
        return self.read(*args)
"""


class Program:
    """A program and the steps of its run."""

    def __init__(self, seed: int, changes: int = 8) -> None:
        self.random = random.Random(seed)
        candidates = [row for row in ROWS if row.combine]
        self.rows = self.random.sample(candidates, self.random.randint(1, 4))
        self.text = self._text()
        self.changed = 0
        self.steps = self._steps(changes)
        self.undo = [number(row.undo, index) for index, row in enumerate(self.rows) if row.undo]

    # The program

    def _text(self) -> str:
        lines = ["import torch", SUPPORT.replace("$", "")]
        for index, row in enumerate(self.rows):
            lines.append(number(row.setup, index))
        body: list[str] = ["x = x + 0", "out = []"]
        order = list(range(len(self.rows)))
        if self.random.random() < 0.3:
            order.append(self.random.choice(order))
        for index in order:
            made, inner = self._read(self.rows[index], index)
            lines += made
            body += inner
            chance = self.random.random()
            if chance < 0.15:
                body.append("middle()")
            elif chance < 0.2:
                body.append("if x.sum() > 0:\n    x = x + 1")
        body.append("return out")
        arguments = "".join(f", a{i}=None" for i, row in enumerate(self.rows) if row.arguments)
        lines.append(f"def fn(x{arguments}):")
        lines += ["    " + line for part in body for line in part.split("\n")]
        return "\n".join([*lines, ""])

    def _read(self, row: Row, index: int) -> tuple[list[str], list[str]]:
        """Module-level code, and lines of the function."""
        read = number(row.read, index)
        mine = f"x, a{index}" if row.arguments else "x"
        name = f"read{index}_{self.random.randrange(10**6)}"
        plain = [f"def {name}({mine}):", f"    return {read}"]
        way = self.random.randrange(14)
        if way <= 2:
            return [], [f"out.append({read})"]
        if way == 3:
            return plain, [f"out.append({name}({mine}))"]
        if way == 4:
            return [*plain, f"{name} = Reader({name})"], [f"out.append({name}({mine}))"]
        if way == 5:
            return [], [f"for _ in range(2):\n    out.append({read})"]
        if way == 6:
            return [], [f"out += [{read} for _ in range(2)]"]
        if way == 7:
            guarded = f"try:\n    out.append({read})\nexcept Exception as e:\n"
            return [], [guarded + "    out.append(type(e).__name__)"]
        if way == 8:
            guarded = f"try:\n    out.append({name}({mine}))\nexcept Exception as e:\n"
            return plain, [guarded + "    out.append(type(e).__name__)"]
        if way == 9:
            made = [f"def {name}({mine}):", f"    yield {read}", f"    yield {read}"]
            return made, [f"out.extend({name}({mine}))"]
        if way == 10:
            return [], [f"out.append((lambda {mine}: {read})({mine}))"]
        if way == 11:
            made = [
                f"def {name}({mine}):",
                "    def inner():",
                f"        return {read}",
                "    return inner",
            ]
            return made, [f"out.append({name}({mine})())"]
        if way == 12:
            return [], [f"with torch.no_grad():\n    out.append({read})"]
        made = [f"def {name}({mine}):", "    y = x + 1", "    middle()", f"    return {read}, y"]
        return made, [f"out.append({name}({mine}))"]

    # Its run

    def _arguments(self, chosen: dict[int, str]) -> list[str]:
        return [
            number(chosen.get(index, row.arguments[0]), index)
            for index, row in enumerate(self.rows)
            if row.arguments
        ]

    def _steps(self, changes: int) -> list[Step]:
        usual = self._arguments({})
        steps = [Step("", usual, ""), Step("", usual, "")]
        waiting = [iter(row.steps()) for row in self.rows]
        while self.changed < changes:
            index = self.random.randrange(len(self.rows))
            step = next(waiting[index], None)
            if step is None:
                # All changes of this row were made once: any of them again.
                step = self.random.choice(self.rows[index].steps())
            change, argument, context = step
            arguments = self._arguments({index: argument} if argument else {})
            change, context = number(change, index), number(context, index)
            how = self.random.random()
            if change and how < 0.15:
                change = f"pending.append({change!r})"
            steps.append(Step(change, arguments, context, thread=0.15 <= how < 0.3))
            self.changed += 1
            for _ in range(self.random.choice((0, 0, 0, 1, 1, 3))):
                steps.append(Step("", arguments, context))
        return steps
