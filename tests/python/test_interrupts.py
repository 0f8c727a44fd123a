"""Interrupts at random instants of compilations: signals, exceptions that another thread sends.

Each has to reach the program once, and the function has to work afterwards.
`FERRODYN_INTERRUPTS=1000 pytest tests/python/test_interrupts.py` sends that many, not a few.
"""

import contextlib
import ctypes
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

import ferrodyn
import forked
import pytest
import torch

COUNT = int(os.environ.get("FERRODYN_INTERRUPTS", "48"))
MAIN = threading.get_ident()
X = torch.linspace(-1, 1, 8).reshape(2, 4)


class Alarm(Exception):
    """What the handler of SIGALRM raises."""


class Sent(Exception):
    """What another thread raises in the main one."""


class SentToBackend(BaseException):
    """The same while torch's own Python code runs, which drops an `Exception` here and there."""


INTERRUPTS = (KeyboardInterrupt, Alarm, Sent, SentToBackend)


def on_alarm(signum, frame):
    raise Alarm


def noop(graph, inputs):
    noop.graphs += 1
    return graph.forward


noop.graphs = 0


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.norm = torch.nn.LayerNorm(4)

    def forward(self, x):
        return self.norm(torch.relu(self.linear(x))) + x


class Broken(Block):
    def forward(self, x):
        y = super().forward(x)
        outside(y)
        return y * 2


@ferrodyn.disable
def outside(y):
    return y.shape


def library(x):
    return LIBRARY(x.unsqueeze(0)).squeeze(0) + torch.nn.functional.gelu(x)


torch.manual_seed(0)
BLOCKS = torch.nn.Sequential(*[Block() for _ in range(4)])
BROKEN = torch.nn.Sequential(*[Broken() for _ in range(3)])
LIBRARY = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval()


def sizes(x):
    for n in range(1, 3):
        x = torch.cat([x, x[:n].tanh()])
    return x[: X.shape[0]]


PROGRAMS = {
    "blocks": (BLOCKS, noop),
    "breaks": (BROKEN, noop),
    "library": (library, noop),
    "sizes": (sizes, noop),
    "aot_eager": (BLOCKS, "aot_eager"),
}


def send_signal(signum):
    os.kill(os.getpid(), signum)


def send_exception(kind):
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(MAIN), ctypes.py_object(kind))


SENDERS = {
    KeyboardInterrupt: lambda: send_signal(signal.SIGINT),
    Alarm: lambda: send_signal(signal.SIGALRM),
    Sent: lambda: send_exception(Sent),
    SentToBackend: lambda: send_exception(SentToBackend),
}


@contextlib.contextmanager
def handlers():
    """The handlers of this test, and the interrupts that Python says it has ignored.

    An interrupt that comes into a constructor of torch leaves an object behind whose `__del__`
    may raise something else: that is ignored without any compiler too.
    """
    ignored = []

    def note(unraisable):
        if issubclass(unraisable.exc_type, INTERRUPTS):
            ignored.append(unraisable)

    before = signal.signal(signal.SIGALRM, on_alarm)
    interrupt = signal.signal(signal.SIGINT, signal.default_int_handler)
    hook, sys.unraisablehook = sys.unraisablehook, note
    try:
        yield ignored
        # Nothing is left of the compilations' own handlers.
        assert signal.getsignal(signal.SIGALRM) is on_alarm
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        sys.unraisablehook = hook
        signal.signal(signal.SIGALRM, before)
        signal.signal(signal.SIGINT, interrupt)


def interrupted(call, send, delay):
    """Sends after a while, and gives the exceptions that reached the program."""
    raised = []
    sent = threading.Event()

    def sender():
        time.sleep(delay)
        send()
        sent.set()

    def wait():
        # One that came too late for the call is raised here, and so is a second one.
        deadline = time.monotonic() + 10
        while not sent.is_set() or (not raised and time.monotonic() < deadline):
            time.sleep(0.0005)
        time.sleep(0.0005)

    thread = threading.Thread(target=sender)
    try:
        try:
            thread.start()
            call()
        except BaseException as error:  # noqa: BLE001
            raised.append(error)
        wait()
    except BaseException as error:  # noqa: BLE001
        raised.append(error)
    thread.join()
    return raised


def interrupt_often(name):
    """Interrupts compilations of a program at random instants, and looks what becomes of it."""
    program, backend = PROGRAMS[name]
    seeded = random.Random(name)
    expected = program(X)
    lasted = []
    for _ in range(3):
        ferrodyn.reset()
        start = time.perf_counter()
        ferrodyn.compile(program, backend=backend)(X)
        lasted.append(time.perf_counter() - start)
    during = 0
    kinds = [KeyboardInterrupt, Alarm, Sent if backend == noop else SentToBackend]
    with handlers() as ignored:
        least = -(-COUNT // len(PROGRAMS))
        for i in range(least + 100):
            # On a busy machine all of a few may come too late.
            if i >= least and during:
                break
            kind = kinds[i % len(kinds)]
            ferrodyn.reset()
            compiled = ferrodyn.compile(program, backend=backend)
            done = []
            noop.graphs = 0
            raised = interrupted(
                lambda: done.append(compiled(X)), SENDERS[kind], seeded.uniform(0, min(lasted))
            )
            during += not done
            assert [type(e) for e in raised] == [kind], (i, raised, ignored)
            assert not ignored, (i, ignored)
            assert torch.equal(compiled(X), expected), i
            assert backend != noop or noop.graphs > 0
    assert during > 0


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name == "aot_eager" else ())
        for name in PROGRAMS
    ],
)
def test_each_reaches_the_program_once(name):
    # In a process of its own: torch's own code does not always put back what it has changed when
    # an interrupt comes, with or without us.
    program = (
        "import warnings; warnings.filterwarnings('ignore', 'Error detected in')\n"
        f"import test_interrupts; test_interrupts.interrupt_often({name!r})"
    )
    done = forked.run(["-c", program], cwd=Path(__file__).parent)
    assert done.returncode == 0, done.stderr[-3000:]


WHERE_TORCH_ENDS_THE_PROCESS = """
import ctypes, threading, torch, ferrodyn
from torch._library import simple_registry

find = simple_registry.find_torch_dispatch_rule
asked = []

def interrupted_once(*args):
    asked.append(args)
    if len(asked) == 1:
        thread = ctypes.c_ulong(threading.get_ident())
        send = ctypes.pythonapi.PyThreadState_SetAsyncExc
        send(thread, ctypes.py_object(KeyboardInterrupt))
        for _ in range(1000):
            pass
    return find(*args)

simple_registry.find_torch_dispatch_rule = interrupted_once
compiled = ferrodyn.compile(torch.nn.Linear(4, 4), backend="aot_eager")
try:
    compiled(torch.ones(2, 4))
except KeyboardInterrupt:
    print(compiled(torch.ones(2, 4)).shape, len(asked) > 1)
    print(simple_registry.find_torch_dispatch_rule is interrupted_once)
"""


@pytest.mark.slow
def test_one_where_torch_would_end_the_process():
    # C++ code that throws no exception on asks for a rule, once a process for each operation.
    result = forked.run(["-c", WHERE_TORCH_ENDS_THE_PROCESS])
    assert result.stdout.split("\n") == ["torch.Size([2, 4]) True", "True", ""], result.stderr


def test_one_while_numpy_is_told_to_raise(monkeypatch):
    # A translation has NumPy raise where the program's settings decide; that is never left behind.
    import numpy

    enter = numpy.errstate.__enter__
    expected = numpy.geterr()

    class Interrupted(numpy.errstate):
        def __enter__(self):
            enter(self)
            self._token = None
            monkeypatch.undo()
            raise KeyboardInterrupt

    monkeypatch.setattr(numpy, "errstate", Interrupted)
    compiled = ferrodyn.compile(Block(), backend=noop)
    with contextlib.suppress(KeyboardInterrupt):
        compiled(X)
    assert numpy.geterr() == expected
    assert compiled(X).shape == X.shape


class Caught(Exception):
    """What a handler raises while a graph runs."""


def test_a_handler_that_raises_while_a_graph_runs():
    # A graph of repeatable operations that raises runs again in eager mode, unless the exception is
    # a handler's.
    runs = []

    class Handler:
        def __call__(self, signum, frame):
            runs.append(signum)
            raise Caught

    def f(x):
        for _ in range(200):
            x = torch.nn.functional.softplus(torch.nn.functional.normalize(x))
        try:
            return x.view(8)
        except RuntimeError:
            return None

    compiled = ferrodyn.compile(f, backend=noop)
    x = torch.ones(2, 4)
    expected = compiled(x)
    start = time.perf_counter()
    compiled(x)
    lasts = time.perf_counter() - start
    before = signal.signal(signal.SIGALRM, Handler())
    caught = 0
    try:
        for i in range(20):
            try:
                signal.setitimer(signal.ITIMER_REAL, lasts * (i + 1) / 22)
                compiled(x)
                time.sleep(0.5)
            except Caught:
                caught += 1
        assert caught == len(runs) == 20
        assert torch.equal(compiled(x), expected)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_flags_of_a_signal_stay():
    # The system begins an interrupted `read` again where `siginterrupt` says so. Python's
    # `signal.signal` undoes that.
    reading, writing = os.pipe()
    libc = ctypes.CDLL(None, use_errno=True)
    before = signal.signal(signal.SIGALRM, lambda *_: None)
    try:
        signal.siginterrupt(signal.SIGALRM, False)
        ferrodyn.compile(lambda x: x + 1, backend=noop)(X)
        threading.Timer(0.4, lambda: os.write(writing, b"!")).start()
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        assert libc.read(reading, ctypes.create_string_buffer(1), 1) == 1
    finally:
        signal.signal(signal.SIGALRM, before)
        os.close(reading)
        os.close(writing)


def test_a_handler_that_raises_in_a_backend():
    # The backend hides what the handler raises, or makes another exception of it.
    def hides(graph, inputs):
        try:
            os.kill(os.getpid(), signal.SIGALRM)
            time.sleep(0.1)
        except Exception:  # noqa: BLE001
            pass
        return graph.forward

    def renames(graph, inputs):
        try:
            os.kill(os.getpid(), signal.SIGALRM)
            time.sleep(0.1)
        except Alarm:
            raise ValueError("failed") from None

    with handlers():
        for backend in (hides, renames):
            with pytest.raises(Alarm):
                ferrodyn.compile(lambda x: x + 1, backend=backend)(X)


def test_a_backend_is_interrupted_at_once():
    def backend(graph, inputs):
        time.sleep(30)
        return graph.forward

    with handlers():
        start = time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Alarm):
            ferrodyn.compile(lambda x: x + 1, backend=backend)(X)
        assert time.monotonic() - start < 10


def test_handlers_that_return_run_once():
    seen = []
    before = signal.signal(signal.SIGUSR1, lambda signum, frame: seen.append(frame))

    def backend(graph, inputs):
        os.kill(os.getpid(), signal.SIGUSR1)
        return graph.forward

    def f(x):
        return x + 1

    try:
        compiled = ferrodyn.compile(f, backend=backend)
        assert torch.equal(compiled(X), X + 1)
        assert len(seen) == 1 and seen[0] is not None
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_unraisable_hook_stays():
    hook = sys.unraisablehook
    ferrodyn.compile(lambda x: x + 1, backend=noop)(X)
    assert sys.unraisablehook is hook
