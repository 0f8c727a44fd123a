"""``python -m ferrodyn``: runs programs, and looks after what is kept of compilers.

``python -m ferrodyn run script.py [args]`` and ``python -m ferrodyn run -m module [args]`` run a
program in which ``torch.compile`` is Ferrodyn; nothing else is changed. Processes that the program
starts by ``multiprocessing`` are served too. ``explain`` in the place of ``run`` says afterwards
what became of all that was compiled, and ``report`` writes it as a page.

``python -m ferrodyn cache list`` shows the results of compilers that are kept from one process to
the next, ``verify`` removes what has changed, ``clear`` removes all, and ``explain script.py`` runs
a program and says which of its graphs were found, and why the others were not.
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

#: What can be done with what is kept, besides to explain it.
_ACTIONS = {
    "list": "show a line for each artifact",
    "verify": "remove those that have changed since they were written",
    "clear": "remove all",
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ferrodyn", description="Run programs that use torch.compile."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    cache = commands.add_parser("cache", help="what is kept of compilers")
    actions = cache.add_subparsers(dest="action", required=True)
    for name, text in _ACTIONS.items():
        actions.add_parser(name, help=text)
    _add_program(
        actions.add_parser(
            "explain",
            help="run a program, and say which graphs were found, and why the others were not",
            usage="python -m ferrodyn cache explain [-m module | script.py] [args ...]",
        )
    )
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
        _add_program(command)
    return parser


def _add_program(command: argparse.ArgumentParser) -> None:
    command.add_argument("-m", dest="module", action="store_true", help="it is a module")
    command.add_argument("program", help="a script, or the name of a module")
    command.add_argument("args", nargs=argparse.REMAINDER, help="arguments of the program")


def _cache(choices: argparse.Namespace) -> None:
    from . import _artifact_list

    if choices.action == "explain":
        _artifact_list.explain(choices.program, choices.args, is_module=choices.module)
        return
    actions = {"list": _artifact_list.show, "verify": _artifact_list.verify}
    actions.get(choices.action, _artifact_list.clear)()


def main(argv: Sequence[str] | None = None) -> None:
    """Do what the command line says; what the program raises is raised."""
    choices = _parser().parse_args(argv)
    if choices.command == "cache":
        _cache(choices)
        return
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
