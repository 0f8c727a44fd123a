"""docs/breaks: a page for each cause of a graph break, made from a program of tests/breaks.

A page has what Ferrodyn says when the program runs, and what to write instead. The index has beside
it what torch.compile says of the same program, which `--bless` finds out. `reasons.md` lists every
reason that the sources of Ferrodyn give.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "tests" / "breaks"
PAGES = ROOT / "docs" / "breaks"
#: What torch.compile says of each program, and the Python on which the pages were made.
BESIDE = PROGRAMS / "beside.json"

#: The order of the arguments of what makes a reason.
_MAKERS = re.compile(r"(?:Stop::(?:brk|raises)|Refusal::new)\(")
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)


def programs() -> list[str]:
    return sorted(path.stem for path in PROGRAMS.glob("*.py"))


def load(name: str) -> ModuleType:
    """Import a program anew, under its own name: reasons may contain it."""
    spec = importlib.util.spec_from_file_location(name, PROGRAMS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def python() -> str:
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


def said_by_torch(module: ModuleType) -> str:
    """What torch.compile says of a program: the first line, or that it is one graph."""
    import torch

    torch._dynamo.reset()
    try:
        torch.compile(module.fn, backend="eager", fullgraph=True)(*module.inputs())
    except Exception as error:
        return str(error).splitlines()[0]
    return "(one graph)"


def beside() -> dict[str, str]:
    return json.loads(BESIDE.read_text())


def _parts(name: str) -> tuple[str, str]:
    """The program's text up to `instead`, and from there to the inputs."""
    text = (PROGRAMS / f"{name}.py").read_text()
    body = text.split('"""', 2)[2].strip()
    body = body[: body.index("\n\n\ndef inputs")]
    head, _, rest = body.partition("\ndef fn(")
    end = rest.index("\n\n\n")
    return f"{head}\ndef fn({rest[:end]}", rest[end:].strip()


def page(name: str, module: ModuleType, reason: object) -> str:
    """The text of a page."""
    program, instead = _parts(name)
    hints = "\n".join(f"- {hint}" for hint in reason.hints)
    return "\n".join(
        [
            f"# {module.__doc__}",
            "",
            "```python",
            program,
            "```",
            "",
            f"Ferrodyn ends the graph here: **{reason.reason}**",
            "",
            f"{reason.explanation}",
            "",
            "What to change:",
            "",
            hints,
            "",
            "Written so that it is one graph, with an equal result (a test runs both):",
            "",
            "```python",
            instead,
            "```",
            "",
            "[All causes](README.md)",
            "",
        ]
    )


def index(reasons: dict[str, tuple[str, str]], of_torch: dict[str, str]) -> str:
    """The text of the index: for each program its title and reason, and what torch says."""
    lines = [
        "# Why a graph ends, and what to write instead",
        "",
        "The most common causes, each a page with a program that a test runs. Beside each is what "
        "torch.compile says of the same program, in its first line.",
        "",
        "| cause | Ferrodyn says | torch.compile says |",
        "|---|---|---|",
    ]
    for name, (title, reason) in reasons.items():
        said = of_torch[name].replace("|", "\\|")
        lines.append(f"| [{title}]({name}.md) | {reason} | {said} |")
    lines += [
        "",
        "`ferrodyn.explain(f)(*args)`, `python -m ferrodyn explain script.py` and "
        '`FERRODYN_LOGS="graph_breaks"` show each break of a program with its line. '
        "[Every reason](reasons.md) that the sources give is listed too.",
        "",
        "```{toctree}",
        ":hidden:",
        ":glob:",
        "",
        "*",
        "```",
        "",
    ]
    return "\n".join(lines)


def _arguments(text: str, start: int) -> list[str]:
    """The arguments of a call in Rust, as text, from behind its parenthesis."""
    depth, found, at = 0, [""], start
    while depth >= 0:
        literal = _LITERAL.match(text, at)
        if literal:
            found[-1] += literal.group()
            at = literal.end()
            continue
        char = text[at]
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            found.append("")
        else:
            found[-1] += char
        at += 1
    return found


def _words(argument: str) -> str:
    """The text in an argument, with `...` for what is filled in."""
    literals = [re.sub(r"\\\n\s*", "", literal) for literal in _LITERAL.findall(argument)]
    text = " / ".join(literals).replace('\\"', '"')
    return re.sub(r"\{[^}]*\}", "...", text).replace("|", "\\|")


def source_reasons() -> list[tuple[str, str, str]]:
    """Every reason in the sources: what, why, what to change."""
    found = set()
    for path in sorted((ROOT / "crates").glob("*/src/**/*.rs")):
        text = path.read_text()
        for call in _MAKERS.finditer(text):
            words = [_words(argument) for argument in _arguments(text, call.end())]
            if len(words) >= 3 and words[0]:
                found.add((words[0], words[1], words[2]))
    return sorted(found)


def reasons_page() -> str:
    lines = [
        "# Every reason for a graph break",
        "",
        "Read from the sources of Ferrodyn (`...` stands for what is filled in).",
        "",
        "| reason | why | what to change |",
        "|---|---|---|",
    ]
    lines += [f"| {what} | {why} | {change} |" for what, why, change in source_reasons()]
    return "\n".join([*lines, ""])
