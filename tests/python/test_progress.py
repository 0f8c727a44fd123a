"""Progress of a long compilation: a line on a terminal, nothing in a pipe, and Ctrl-C."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time

import forked
import pytest

pytestmark = [pytest.mark.own, pytest.mark.once]

#: The backend takes its time once. `say` is how the test learns where the program is.
PROGRAM = """\
import sys, time
import ferrodyn, torch
waits = [float(sys.argv[1])]
def backend(graph, inputs):
    print("begins", flush=True)
    end = time.monotonic() + (waits.pop() if waits else 0)
    while time.monotonic() < end:
        if sys.argv[2] == "sleeps":
            time.sleep(0.01)
    return graph.forward
@ferrodyn.compile(backend=backend)
def long_one(x):
    return x.sin() + x.cos()
x = torch.ones(3)
for attempt in range(2):
    try:
        print("same", torch.equal(long_one(x), x.sin() + x.cos()), flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


class OnTerminal:
    """The program with its stderr on a terminal of its own, which controls it."""

    def __init__(self, tmp_path, *args, **env):
        program = tmp_path / "program.py"
        program.write_text(PROGRAM)
        self.terminal, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, program, *args],
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=theirs,
            text=True,
            env={**os.environ, "TERM": "xterm", **env},
            preexec_fn=self._controlled,
            start_new_session=True,
        )
        os.close(theirs)

    @staticmethod
    def _controlled():
        import fcntl
        import termios

        fcntl.ioctl(2, termios.TIOCSCTTY, 0)

    def read(self, until: str = "", seconds: float = 120.0) -> str:
        """Return what the terminal shows, up to where `until` matches or the end of the program."""
        text, end = "", time.monotonic() + seconds
        while time.monotonic() < end and not (until and re.search(until, text)):
            if not select.select([self.terminal], [], [], 0.1)[0]:
                if self.process.poll() is not None:
                    break
                continue
            try:
                text += os.read(self.terminal, 4096).decode()
            except OSError:  # the other end is closed
                break
        return text

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        os.close(self.terminal)


@pytest.fixture
def on_terminal(tmp_path):
    opened = []

    def run(*args, **env):
        opened.append(OnTerminal(tmp_path, *args, **env))
        return opened[-1]

    yield run
    for one in opened:
        one.close()


@pytest.mark.parametrize("how", ["sleeps", "computes"])
def test_a_terminal_shows_stage_function_nodes_and_seconds(on_terminal, how):
    program = on_terminal("3.5", how)
    shown = program.read()
    assert program.process.wait(60) == 0
    says = r"ferrodyn: long_one \(program.py:11\): the backend compiles, 5 nodes, (\d\.\d) s"
    line = r"\r\x1b\[2K" + says
    seconds = [float(found) for found in re.findall(line, shown)]
    assert len(seconds) > 2 and seconds == sorted(seconds) and seconds[0] >= 2.0, shown
    # Nothing of it stays.
    assert shown.endswith("\r\x1b[2K"), shown
    assert program.process.stdout.read() == "begins\nsame True\nsame True\n"


@pytest.mark.parametrize("env", [{"TERM": "dumb"}, {}], ids=["dumb", "quick"])
def test_it_is_silent_where_nobody_could_read_it_or_has_to_wait(on_terminal, env):
    program = on_terminal("3" if env else "0", "sleeps", **env)
    assert program.read() == ""
    assert program.process.wait(60) == 0


def test_a_pipe_gets_nothing(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = forked.run([program, "3", "sleeps"])
    assert (done.returncode, done.stderr) == (0, "")


def test_control_c_leaves_the_function_usable(on_terminal):
    program = on_terminal("60", "sleeps")
    shown = program.read(until=r"ferrodyn: .* s")
    assert "the backend compiles" in shown
    # What the terminal sends for Ctrl-C.
    os.write(program.terminal, b"\x03")
    rest = program.read()
    assert program.process.wait(60) == 0
    assert program.process.stdout.read() == "begins\ninterrupted\nbegins\nsame True\n"
    assert rest.endswith("\r\x1b[2K"), rest


def test_it_can_be_switched_off(tmp_path, on_terminal):
    program = tmp_path / "sitecustomize.py"
    program.write_text("import ferrodyn; ferrodyn.config.progress = False")
    quiet = on_terminal("3", "sleeps", PYTHONPATH=str(tmp_path))
    assert quiet.read() == ""
    assert quiet.process.wait(60) == 0
