"""``python -m ferrodyn``: runs programs.

``python -m ferrodyn run script.py [args]`` and ``python -m ferrodyn run -m module [args]`` run a
program in which ``torch.compile`` is Ferrodyn; nothing else is changed. Processes that the program
starts by ``multiprocessing`` are served too.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ferrodyn", description="Run programs that use torch.compile."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser(
        "run",
        help="run a program with Ferrodyn in the place of torch.compile",
        usage="python -m ferrodyn run [-m module | script.py] [args ...]",
    )
    run.add_argument("-m", dest="module", action="store_true", help="the program is a module")
    run.add_argument("program", help="a script, or the name of a module")
    run.add_argument("args", nargs=argparse.REMAINDER, help="arguments of the program")
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Do what the command line says; what the program raises is raised."""
    choices = _parser().parse_args(argv)
    from . import _run

    _run.run(choices.program, choices.args, is_module=choices.module)


if __name__ == "__main__":
    main()
