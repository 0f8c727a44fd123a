"""A program ends well while daemon threads are inside of compiled code, as plain Python does.

Until CPython 3.13 the interpreter ends such a thread by unwinding its stack, with our frames on it.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# Two threads call `step`, and stay in `hold` for ever. They are not in torch's own C++ code: one
# that is there when the program ends makes a program in eager mode abort as well.
STEPS = {
    "a graph break": """
    @compiled
    def step(x=torch.ones(3)):
        y = x.sin()
        hold()
        return y + 1
    """,
    "no tensors": """
    @compiled
    def step(n=1):
        hold()
        return n + 1
    """,
    "a call made before": """
    @compiled
    def once(n=1):
        time.sleep(0.001)
        return n + 1

    def step():
        once()
        hold()
    """,
    "a backend": """
    def slow(gm, example_inputs):
        hold()

    @ferrodyn.compile(backend=slow)
    def step(x=torch.ones(3)):
        return x.sin()
    """,
    "a graph": """
    @ferrodyn.compile(backend=lambda gm, example_inputs: lambda *args: hold())
    def step(x=torch.ones(3)):
        return x.sin()
    """,
    "an attribute that a property gives": """
    class Slow:
        @property
        def value(self):
            hold()

    @compiled
    def step(slow=Slow()):
        return slow.value + 1
    """,
    "a call of the program while it is traced": """
    class Meta(type):
        def __instancecheck__(cls, instance):
            hold()

    class Asked(metaclass=Meta):
        pass

    @compiled
    def step(x=1):
        return isinstance(x, Asked), x + 1
    """,
    "a finalizer": """
    class Gone:
        def __del__(self):
            hold()

    @compiled
    def step(n=1):
        Gone()
        return n + 1
    """,
    "a generator": """
    def numbers():
        yield 1
        hold()

    @compiled
    def step():
        return [n + 1 for n in numbers()]
    """,
    "a module": """
    class Layer(torch.nn.Module):
        def forward(self, n):
            hold()

    model = ferrodyn.compile(torch.nn.Sequential(Layer(), Layer()), backend=eager)
    step = functools.partial(model, 1)
    """,
    "capture off": """
    @ferrodyn.disable
    def off():
        hold()

    @compiled
    def step(n=1):
        off()
        return n + 1
    """,
}

PROGRAM = """
import functools, os, sys, textwrap, threading, time, torch, ferrodyn

def eager(gm, example_inputs):
    return gm.forward

compiled = ferrodyn.compile(backend=eager)
held = threading.Event()

def hold():
    held.set()
    while True:
        time.sleep(0.001)

# Each in a process of its own, which has imported torch already.
for name, text in STEPS.items():
    child = os.fork()
    if not child:
        exec(textwrap.dedent(text))
        for _ in range(2):
            threading.Thread(target=step, daemon=True).start()
        assert held.wait(60), "no thread gets there"
        time.sleep(0.05)
        sys.exit()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(f"{name}: {status}", flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_a_program_ends_well_while_daemon_threads_are_inside():
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", f"STEPS = {STEPS!r}\n{PROGRAM}"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-6000:]
    assert done.stdout.splitlines() == [f"{name}: 0" for name in STEPS], done.stderr[-6000:]
