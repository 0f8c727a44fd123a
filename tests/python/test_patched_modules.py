"""What a program puts in the place of a function of a module, before the first capture."""

from __future__ import annotations

import forked
import harness
import pytest

pytestmark = [pytest.mark.own]

PROGRAM = f"""
import builtins, functools, math, operator, types
import torch
import torch.nn.functional as F

REFERENCE = {harness.REFERENCE}
if not REFERENCE:
    import ferrodyn

class Own:
    a = 7

    def __init__(self, **given):
        pass

math.sqrt = lambda value: 7.0
operator.add = lambda a, b: a - b
torch.sin = lambda value: value * 5
F.relu = functools.wraps(F.relu)(lambda value: value * 5)
types.SimpleNamespace = Own
builtins.callable = lambda value: 5
builtins.len = lambda value: 9

def compiled(function, x):
    compiler = torch if REFERENCE else ferrodyn
    return compiler.compile(function, backend="eager")(x)

x = torch.arange(3.0)
for function, unpatched in [
    (lambda x: x * len([1, 2]), x * 2),
    (lambda x: x * callable(x), x * False),
    (lambda x: x * math.sqrt(4.0), x * 2),
    (lambda x: operator.add(x, 1), x + 1),
    (lambda x: torch.sin(x), x.sin()),
    (lambda x: F.relu(x), x.relu()),
    (lambda x: x * types.SimpleNamespace(a=2).a, x * 2),
]:
    expected, actual = function(x), compiled(function, x)
    assert torch.equal(expected, actual), (expected, actual)
    assert not torch.equal(expected, unpatched)
"""


def test_patched_before_the_first_capture():
    done = forked.run(["-c", PROGRAM])
    assert done.returncode == 0, done.stderr
