"""Run a whole program with Ferrodyn installed.

What does not live here: the command line; what being installed means.
"""

from __future__ import annotations

import functools
import multiprocessing.spawn
import os
import runpy
import sys
from collections.abc import Sequence
from typing import Any

from ._install import install

#: What a child process of `multiprocessing` runs before it runs anything of the program.
_FIRST_IN_CHILD = "from ferrodyn._run import prepare; prepare(); "


def prepare() -> None:
    """Install for the life of this process and of those that `multiprocessing` starts."""
    install()
    _serve_children()


def run(program: str, args: Sequence[str], *, is_module: bool) -> None:
    """Run a script, or a module by its name, as ``python`` would, and return as it ends.

    Exceptions of the program, SystemExit among them, pass.
    """
    prepare()
    sys.argv = [program, *args]
    if is_module:
        runpy.run_module(program, run_name="__main__", alter_sys=True)
        return
    if not sys.flags.safe_path:
        # `python -m` has put the current folder there.
        sys.path[0] = os.path.dirname(os.path.abspath(program))
    runpy.run_path(program, run_name="__main__")


def _serve_children() -> None:
    """Have started processes prepare as well: they are new interpreters."""
    command_line = multiprocessing.spawn.get_command_line

    @functools.wraps(command_line)
    def prepared(**arguments: Any) -> list[str]:
        command = command_line(**arguments)
        if "-c" in command:
            at = command.index("-c") + 1
            command[at] = _FIRST_IN_CHILD + command[at]
        return command

    multiprocessing.spawn.get_command_line = prepared
