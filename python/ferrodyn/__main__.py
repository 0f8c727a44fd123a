"""``python -m ferrodyn``: runs programs.

``python -m ferrodyn run script.py [args]`` and ``python -m ferrodyn run -m module [args]`` run a
program in which ``torch.compile`` is Ferrodyn; nothing else is changed. Processes that the program
starts by ``multiprocessing`` are served too. ``explain`` in the place of ``run`` says afterwards
what became of all that was compiled, and ``report`` writes it as a page.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

#: What each command is for.
_COMMANDS = {
    "run": "run a program with Ferrodyn in the place of torch.compile",
    "explain": "run it so, and say on stderr what was captured, what was not, and why",
    "report": "run it so, and write the same as a page of HTML",
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ferrodyn", description="Run programs that use torch.compile."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in _COMMANDS.items():
        options = " [-o page.html]" if name == "report" else ""
        command = commands.add_parser(
            name,
            help=text,
            usage=f"python -m ferrodyn {name}{options} [-m module | script.py] [args ...]",
        )
        if name == "report":
            command.add_argument(
                "-o", dest="output", default="ferrodyn-report.html", help="the file of the page"
            )
        command.add_argument("-m", dest="module", action="store_true", help="it is a module")
        command.add_argument("program", help="a script, or the name of a module")
        command.add_argument("args", nargs=argparse.REMAINDER, help="arguments of the program")
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Do what the command line says; what the program raises is raised."""
    choices = _parser().parse_args(argv)
    program = (choices.program, choices.args)
    if choices.command == "run":
        from . import _run

        _run.run(*program, is_module=choices.module)
        return
    from . import _report

    if choices.command == "explain":
        _report.explain(*program, is_module=choices.module)
    else:
        _report.report(*program, is_module=choices.module, output=choices.output)


if __name__ == "__main__":
    main()
