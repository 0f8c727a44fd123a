"""Random programs with random changes of their inputs: the result is eager's, every time.

A guard that passes where it should not, an effect that is lost or done twice, a value that is
rebuilt wrongly after a break: all show here as a difference.
"""

from __future__ import annotations

import linecache
from typing import Any

import harness
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

# Statements over: tensors x, y, z; a number n; a list; a dict; an object o with attributes.
SIMPLE = [
    "x = x + y",
    "z = x * n",
    "y = y - z",
    "x, y = y, x",
    "z = torch.relu(x) + n",
    "x = x.reshape(-1)[: y.numel()].reshape(y.shape)",
    "x = x.clone(); x += 1",
    "y.mul_(2)",
    "w = x; w.add_(n); z = z + w",
    "n = n + 1",
    "n = n * 2 - len(items)",
    "n = (n + 1) % 5",
    "items.append(x)",
    "items.append(n)",
    "items.insert(0, z)",
    "items[-1] = n",
    "items.reverse()",
    "x = x + len(items)",
    "z = sum((i for i in items if isinstance(i, torch.Tensor)), z)",
    "table['k'] = x",
    "table['n'] = n",
    "table.setdefault('s', []).append(n)",
    "n = n + len(table)",
    "z = table.get('k', z)",
    "o.count += 1",
    "o.last = z",
    "n = n + o.count",
    "z = helper(z, n)",
    "z = helper(b=x, a=y)",
    "z = [helper(v) for v in (x, y)][n % 2]",
    "f = lambda v, k=n: v * k + o.count; z = f(x)",
    "x, *rest = (x, n, z); n = rest[0]",
    "text = f'{n}-{len(items)}'; n = n + len(text)",
    "z = torch.cat([x.flatten(), y.flatten()]).sum() + z",
    "z = x.sum() if n > 2 else y.mean()",
    "z = z.expand(x.shape) if z.dim() == 0 else z",
    "z = max(n, 3) * x + min(n, 1)",
    "state['calls'] = state.get('calls', 0) + 1",
]
BREAKS = [
    "print('n', n)",
    "x = outside(x)",
    "n = n + int(x.sum() > 0)",
]
CONDITIONS = [
    "n > 2",
    "n % 2 == 0",
    "x.sum() > 0",
    "items",
    "x.dim() == 1 and n",
    "'k' in table",
    "x is y",
    "y.max() < 1 or n",
]


def _indent(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


def _blocks(breaks: bool) -> st.SearchStrategy[list[str]]:
    simple = st.sampled_from(SIMPLE + BREAKS * 2 if breaks else SIMPLE).map(lambda s: [s])
    conditions = st.sampled_from(
        CONDITIONS if breaks else [c for c in CONDITIONS if "sum" not in c and "max" not in c]
    )

    def nest(inner: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
        body = st.lists(inner, min_size=1, max_size=3).map(lambda parts: sum(parts, []))
        return st.one_of(
            st.builds(lambda c, b: [f"if {c}:", *_indent(b)], conditions, body),
            st.builds(
                lambda c, b, e: [f"if {c}:", *_indent(b), "else:", *_indent(e)],
                conditions,
                body,
                body,
            ),
            st.builds(lambda b: ["for i in range(2):", *_indent(b)], body),
            st.builds(
                lambda c, b: ["for i in range(3):", *_indent([f"if {c}:", "    break", *b])],
                conditions,
                body,
            ),
            st.builds(
                lambda b: ["try:", *_indent(b), "finally:", "    o.count += 10"],
                body,
            ),
            st.builds(lambda b: ["with torch.no_grad():", *_indent(b)], body),
        )

    statement = st.recursive(simple, nest, max_leaves=6)
    return st.lists(statement, min_size=1, max_size=6).map(lambda parts: sum(parts, []))


HEADER = """\
import sys
import torch
state = {}
class O:
    def __init__(self):
        self.count = 0
        self.last = None
def helper(a, b=2):
    return a * 2 + b
def outside(v):
    sys.stdout.write(f"outside {tuple(v.shape)}\\n")
    return v + 1
def fn(x, y, n, items, table, o):
    z = x * 1
"""
FOOTER = "    return x, y, z, n, items, o.last, table"
_count = 0


class Program:
    """A generated program: its text, and fresh copies of it to run."""

    def __init__(self, lines: list[str]) -> None:
        global _count
        _count += 1
        self.file = f"<program {_count}>"
        self.text = "\n".join([HEADER + "\n".join(_indent(lines)), FOOTER, ""])
        # Tracebacks and graph breaks show source lines.
        linecache.cache[self.file] = (len(self.text), None, self.text.splitlines(True), self.file)

    def load(self) -> dict[str, Any]:
        namespace: dict[str, Any] = {"__name__": "program"}
        exec(compile(self.text, self.file, "exec"), namespace)
        return namespace


def _calls(namespace: dict[str, Any], changes: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Argument tuples: one with the usual values, the others with something changed."""
    torch.manual_seed(3)
    calls = []
    for change in [{}, {}, *changes, {}]:
        shape = change.get("shape", (2, 3))
        x = torch.randn(shape, dtype=change.get("dtype", torch.float32)) + change.get("shift", 0)
        y = x if change.get("same") else torch.randn(shape, dtype=x.dtype)
        if change.get("transposed") and len(shape) == 2:
            x = x.t().contiguous().t()
        items = [torch.ones(shape)] * change.get("items", 1)
        table = {"k": torch.zeros(shape)} if change.get("k") else {}
        calls.append((x, y, change.get("n", 1), items, table, namespace["O"]()))
    return calls


CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "shape": st.sampled_from([(2, 3), (4,), (1, 1), (3, 3)]),
        "dtype": st.sampled_from([torch.float32, torch.float64]),
        "shift": st.sampled_from([-5, 5]),
        "same": st.booleans(),
        "transposed": st.booleans(),
        "items": st.integers(1, 3),
        "k": st.booleans(),
        "n": st.integers(0, 4),
    },
)
SETTINGS = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def _compare(lines: list[str], changes: list[dict[str, Any]], **choices: Any) -> None:
    program = Program(lines)
    plain, other = program.load(), program.load()
    state = lambda namespace: lambda: namespace["state"]
    expected = harness.run_calls(
        plain["fn"], _calls(plain, changes), program.file, state(plain), backward=False
    )
    harness.reset()
    compiled = harness.compile(other["fn"], backend=harness.Recorder(), **choices)
    found = harness.run_calls(
        compiled, _calls(other, changes), program.file, state(other), backward=False
    )
    try:
        harness.assert_same(expected, found)
    except AssertionError as error:
        raise AssertionError(f"{error}\n\n{program.text}\n{changes}") from None


@SETTINGS
@given(_blocks(breaks=False), st.lists(CHANGES, max_size=3))
def test_programs_without_breaks(lines, changes):
    _compare(lines, changes)


@SETTINGS
@given(_blocks(breaks=True), st.lists(CHANGES, max_size=3))
def test_programs_with_breaks(lines, changes):
    _compare(lines, changes)


@pytest.mark.slow
@settings(SETTINGS, max_examples=400)
@given(_blocks(breaks=True), st.lists(CHANGES, max_size=3))
def test_many_programs(lines, changes):
    _compare(lines, changes)
