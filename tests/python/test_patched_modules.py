"""What a program puts in the place of a function of a module, before the first capture."""

from __future__ import annotations

import subprocess
import sys

import harness
import pytest

pytestmark = [pytest.mark.own]

PROGRAM = """
import builtins, functools, math, operator, types
import torch
import torch.nn.functional as F
if not {reference}:
    import ferrodyn

{patches}

{function}

def compiled(x):
    if {reference}:
        return torch.compile(function, backend="eager")(x)
    return ferrodyn.compile(function, backend="eager")(x)

x = torch.arange(3.0)
expected, actual = function(x), compiled(x)
assert torch.equal(expected, actual), (expected, actual)
assert not torch.equal(expected, {unpatched})
"""


@pytest.mark.parametrize(
    ("patches", "function", "unpatched"),
    [
        ("builtins.len = lambda value: 9", "x * len([1, 2])", "x * 2"),
        ("builtins.callable = lambda value: 5", "x * callable(x)", "x * False"),
        ("math.sqrt = lambda value: 7.0", "x * math.sqrt(4.0)", "x * 2"),
        ("operator.add = lambda a, b: a - b", "operator.add(x, 1)", "x + 1"),
        ("torch.sin = lambda value: value * 5", "torch.sin(x)", "x.sin()"),
        (
            "F.relu = functools.wraps(F.relu)(lambda value: value * 5)",
            "F.relu(x)",
            "x.relu()",
        ),
        (
            "types.SimpleNamespace = type('S', (), {'__init__': lambda *_, **given: None, 'a': 7})",
            "x * types.SimpleNamespace(a=2).a",
            "x * 2",
        ),
    ],
)
def test_patched_before_the_first_capture(patches, function, unpatched):
    program = PROGRAM.format(
        patches=patches,
        function=f"def function(x):\n    return {function}",
        unpatched=unpatched,
        reference=harness.REFERENCE,
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
