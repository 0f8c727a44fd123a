"""The log `state`: the symbolic state at a graph break, frames innermost first, one line a slot."""

import re
import sys
import textwrap

import ferrodyn
import harness
import pytest
import torch
from torch.overrides import TorchFunctionMode

pytestmark = pytest.mark.own

X = torch.ones(2, 3)
# What a loop has on the stack; from 3.15 on an iterator is two values.
ITERATOR = ["stack 0      #0", "stack 1      NULL"][: 2 if sys.version_info >= (3, 15) else 1]


def check(fn, args, expected):
    """Compare the state at the first break, but for the instruction: each Python has its own."""
    with harness.captured_logs("state") as logs:
        ferrodyn.compile(fn, backend="eager")(*args)
    text = logs[0][1].removeprefix("STATE AT A GRAPH BREAK\n")
    text = re.sub(r"^((?:frame|suspended) \w+): line \d+, before .*", r"\1", text, flags=re.M)
    found = [line.rstrip() for line in text.rstrip().split("\n")]
    assert found == textwrap.dedent(expected).strip("\n").split("\n")


def test_straight_code():
    def fn(x, n):
        y = x + n, [n]
        return x if y[0].sum() > 0 else n

    expected = """
        frame fn
          x            L['x']
          n            L['n']
          y            (%add float32[2, 3], #0)
          stack 0      %gt bool[]
        grad mode on
        object #0 list (new) [L['n']]
        """
    check(fn, (X, 5), expected)


def test_in_a_loop():
    def fn(x):
        for k in range(3):
            x = x + k
            if x.sum() < 0:
                break
        return x

    expected = f"""
        frame fn
          x            %add float32[2, 3]
          k            0
          {(chr(10) + " " * 10).join([*ITERATOR, f"stack {len(ITERATOR)}"])}      %lt bool[]
        grad mode on
        object #0 range_iterator (new)
        """
    check(fn, (X,), expected)


def test_in_a_context():
    def fn(x):
        with torch.no_grad():
            y = x * 2
            return y if y.sum() > 0 else x

    leave = ["stack 0      function torch.autograd.grad_mode.no_grad.__exit__ of #1"]
    if sys.version_info >= (3, 14):  # The method is two values there.
        leave = [leave[0].removesuffix(" of #1"), "stack 1      #1"]
    in_frame = [*leave, f"stack {len(leave)}      %gt bool[]"]
    expected = f"""
        frame fn
          x            L['x']
          y            %mul float32[2, 3]
          {(chr(10) + " " * 10).join(in_frame)}
        grad mode off
        object #1 no_grad (new) .prev = True
        """
    check(fn, (X,), expected)


def test_in_a_handler():
    def fn(x, items):
        try:
            raise ValueError("no")
        except ValueError:
            items.append(x + 1)
            return items if items[0].sum() > 0 else x

    expected = """
        frame fn
          x            L['x']
          items        L['items']
          stack 0      handled #0
          stack 1      %gt bool[]
          handling     #0
        grad mode on
        object #0 ValueError (new) .args = ('no',)
        object #1 list (L['items'], changed) [%add float32[2, 3]]
        """
    check(fn, (X, []), expected)


def test_in_an_inlined_call():
    def fn(x):
        def inner(y, *, scale):
            z = y * scale
            return z if z.sum() > 0 else y

        return inner(x + 1, scale=3) + x

    expected = """
        frame inner
          y            %add float32[2, 3]
          scale        3
          z            %mul float32[2, 3]
          stack 0      %gt bool[]
        frame fn
          x            L['x']
          inner        function test_in_an_inlined_call.<locals>.fn.<locals>.inner
        grad mode on
        """
    check(fn, (X,), expected)


def numbers(x):
    for i in range(3):
        yield x + i


def test_with_a_suspended_generator():
    def fn(x):
        g = numbers(x)
        first = next(g)
        return list(g) if first.sum() > 0 else x

    expected = f"""
        frame fn
          x            L['x']
          g            #0
          first        %add float32[2, 3]
          stack 0      %gt bool[]
        grad mode on
        object #0 generator (new) suspended
        suspended numbers
          x            L['x']
          i            0
          {(chr(10) + " " * 10).join(ITERATOR).replace("#0", "#1")}
        object #1 range_iterator (new)
        """
    check(fn, (X,), expected)


class Mode(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def test_under_a_mode():
    def fn(x):
        with Mode():
            y = x + 1
            torch._dynamo.graph_break()
        return y

    with harness.captured_logs("state") as logs:
        ferrodyn.compile(fn, backend="eager")(X)
    assert "\ncontext #0\nmode #0\n" in logs[0][1]
    assert "\nobject #0 Mode (new)" in logs[0][1]


class Thing:
    pass


TOTAL = 0


def test_effects():
    def fn(x, thing, table):
        global TOTAL
        TOTAL = 7
        thing.seen = x * 2
        table["a"] = thing
        print("later", TOTAL)
        return x if x.sum() > 0 else thing

    expected = """
        frame fn
          x            L['x']
          thing        L['thing']
          table        L['table']
          stack 0      %gt bool[]
        global TOTAL = 7
        call behind the graph: builtin_function_or_method print('later', 7)
        grad mode on
        object #0 Thing (L['thing']) .seen = %mul float32[2, 3]
        object #1 dict (L['table'], changed) {'a': L['thing']}
        """
    check(fn, (X, Thing(), {}), expected)
