"""What is pinned of a case: its text, and the files that hold it.

`name.txt` holds the text on the newest Python. `name.diff` exists where another Python's text
differs. It has a section for each such Python, newest first: the diff from the text of the
next newer Python.
"""

from __future__ import annotations

import difflib
import linecache
import re
import sys
from collections.abc import Iterable
from pathlib import Path

#: The Pythons on which texts are pinned, newest first.
PYTHONS = ("3.15", "3.14", "3.13", "3.12", "3.11")
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"


# Files


class Snapshot:
    """The two files of a case."""

    def __init__(self, folder: Path, name: str) -> None:
        self.base = folder / f"{name}.txt"
        self.diff = folder / f"{name}.diff"

    def texts(self) -> dict[str, str | None]:
        """The pinned text for each Python. None where there is none, or no diff that applies."""
        text = self.base.read_text() if self.base.exists() else None
        diffs = self._diffs()
        texts = {}
        for python in PYTHONS:
            if text is not None and python in diffs:
                text = apply_diff(text, diffs[python])
            texts[python] = text
        return texts

    def bless(self, text: str, python: str = PYTHON) -> None:
        """Pin `text` for one Python. What is pinned for the others stays what it is."""
        texts = {**self.texts(), python: text}
        newer = texts[PYTHONS[0]] or text
        diffs = ""
        self.base.parent.mkdir(parents=True, exist_ok=True)
        self.base.write_text(newer)
        for python in PYTHONS[1:]:
            older = texts[python] or newer
            if older != newer:
                diffs += f"== {python}\n{make_diff(newer, older)}"
            newer = older
        if diffs:
            self.diff.write_text(diffs)
        else:
            self.diff.unlink(missing_ok=True)

    def _diffs(self) -> dict[str, str]:
        if not self.diff.exists():
            return {}
        _, *parts = re.split(r"^== (.*)\n", self.diff.read_text(), flags=re.MULTILINE)
        return dict(zip(parts[::2], parts[1::2], strict=True))


def stale_files(folder: Path, names: set[str]) -> list[Path]:
    """The files that no case has, and second files that say nothing."""
    known = set()
    for name in names:
        pinned = Snapshot(folder, name)
        known.add(pinned.base)
        if len(set(pinned.texts().values())) > 1:
            known.add(pinned.diff)
    return sorted(path for path in folder.rglob("*") if path.is_file() and path not in known)


def make_diff(old: str, new: str) -> str:
    """A unified diff without context and names of files."""
    lines = difflib.unified_diff(old.split("\n"), new.split("\n"), n=0, lineterm="")
    return "".join(f"{line}\n" for line in list(lines)[2:])


def apply_diff(old: str, diff: str) -> str | None:
    """The text of which `make_diff` made `diff`; None if it did not make it from `old`."""
    lines = old.split("\n")
    new: list[str] = []
    done = 0
    for hunk in re.split(r"^@@ -", diff, flags=re.MULTILINE)[1:]:
        place, *changes = hunk.split("\n")
        start, _, count = place.split()[0].partition(",")
        # A hunk that takes no lines away names the line before it.
        begin = int(start) - (count != "0")
        gone = [line[1:] for line in changes if line.startswith("-")]
        if lines[begin : begin + len(gone)] != gone:
            return None
        new += lines[done:begin] + [line[1:] for line in changes if line.startswith("+")]
        done = begin + len(gone)
    return "\n".join(new + lines[done:])


# Text


def describe(records: Iterable[tuple[str, str]], case: str, bytecode: bool) -> str:
    """What is pinned of the case's log, which is given as pairs of kind and text."""
    show = {
        "graph": _graph,
        "guards": _guards,
        "bytecode": _Bytecode(bytecode),
        "graph_breaks": str.strip,
    }
    text = stable("".join(f"== {kind}\n{show[kind](text)}\n" for kind, text in records))
    return text.replace(f" tests/cases/{case}.py:", " line ")


def stable(text: str) -> str:
    """Replace what differs from run to run: addresses, ids, times, folders."""
    text = re.sub(r"0x[0-9a-f]{6,}", "0x...", text)
    text = re.sub(r"\b\d{11,}\b", "<id>", text)
    # Where an interpreter lies low in memory, so do its own objects.
    text = re.sub(
        r"(___check_(obj|type|code)_id\((?:(?!  # ).)*?, |___obj\()\d+\)", r"\1<id>)", text
    )
    text = re.sub(r"(/[^\s:\"',]+)?/tests/(cases|python)/", r"tests/\2/", text)
    # The count of classes registered with abstract ones so far.
    text = re.sub(r"(___exactly\(___obj\(<id>\)\(\), )\d+\)", r"\1<count>)", text)
    text = re.sub(r"/[^\s:\"',]+/site-packages/", "<site-packages>/", text)
    text = re.sub(r"/[^\s:\"',]+/lib/python3\.\d+/", "<lib>/", text)
    # Lines of Python's library have other numbers on other Pythons.
    text = re.sub(r'(File "<lib>/[^"]*"), line \d+', r"\1", text)
    text = "\n".join(line.rstrip() for line in text.split("\n"))
    text = _alike(text)
    # What called the case is the test runner's business.
    runner = r'(User code traceback:\n)(?:(?!  File "tests/cases/).*\n)*?(?=  File "tests/cases/)'
    return re.sub(runner, r"\1", text)


def _alike(text: str) -> str:
    """Leave out what says only how a Python writes its bytecode."""
    text = re.sub(r"\bLoadConst \d+ \(", "LoadConst (", text)
    text = re.sub(
        r"\b(?:LoadSmallInt|LoadCommon) (\S+)$", r"LoadConst (\1)", text, flags=re.MULTILINE
    )
    return re.sub(r"(__(?:resume|step)_at_)\d+_", r"\1<offset>_", text)


def _graph(table: str) -> str:
    """One line a node: `name = opcode target args kwargs`."""
    _, title, _, rule, *rows = table.split("\n")
    columns = [slice(*column.span()) for column in re.finditer("-+", rule)]
    lines = [title.strip()]
    for row in rows:
        opcode, name, target, args, kwargs = (row[column].strip() for column in columns)
        line = f"{name} = {opcode} {target} {args}"
        lines.append(line if kwargs == "{}" else f"{line} {kwargs}")
    return "\n".join(lines)


def _guards(tree: str) -> str:
    """The tree by indentation. In a line, `$` is the source that the line is indented under.

    Behind `#` is the place in the program, where it is not that of the line before.
    """
    lines = []
    sources: list[str] = []
    last = ""
    for nesting, text in re.findall(r"^\| ((?:\| )*)\+- (.*)", tree, re.MULTILINE):
        depth = len(nesting) // 2
        del sources[depth:]
        text, place = _split_place(text)
        if manager := re.fullmatch(r"GuardManager: source=(.*), accessed_by=(.*)", text):
            text = f"{manager[1]} by {manager[2].replace('GuardAccessor', '')}"
        if depth:
            text = text.replace(sources[depth - 1], "$")
        if manager:
            sources.append(manager[1])
        if place and place != last:
            text += f"  # {place}"
            last = place
        lines.append("  " * depth + text)
    return "\n".join(lines)


def _split_place(text: str) -> tuple[str, str]:
    """A guard without its comment, and the place that the comment names.

    The comment shows the line of the program too: it has to be the one that is there.
    """
    found = re.search(r"(<[^>]*>|\S+):(\d+) in \S+$", text)
    if not found:
        return text, ""
    place, code = found[0], linecache.getline(found[1], int(found[2])).strip()
    guard = text.removesuffix(f"# {code}  # {place}" if code else f"# {place}")
    if guard == text:
        return text, ""
    if "/lib/python3" in place and "/site-packages/" not in place:
        # Lines of Python's library have other numbers on other Pythons.
        place = re.sub(r":\d+ in ", " in ", place) + f": {code}"
    return guard.rstrip(), place


class _Bytecode:
    """The new code of a frame and its resume functions, or no more than which frame it is.

    The code that a resume function copies is left out where it equals code that went before, as
    the frame's own.
    """

    def __init__(self, shown: bool) -> None:
        self._shown = shown
        self._known: set[str] = set()

    def __call__(self, text: str) -> str:
        titles = r"^(ORIGINAL BYTECODE|MODIFIED BYTECODE|RESUME FUNCTION) (.*)\n"
        _, *parts = re.split(titles, text, flags=re.MULTILINE)
        lines = [parts[1]]
        if not self._shown:
            return lines[0]
        for kind, name, listing in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            code = _Code(listing)
            if kind == "ORIGINAL BYTECODE":
                self._known.add(code.copy(0))
            elif kind == "MODIFIED BYTECODE":
                lines += code.lines()
            else:
                start = code.copy_start()
                copy = start and code.copy(start)
                known = copy in self._known
                lines += [name, *(code.lines_before(start) if known else code.lines())]
                if copy:
                    self._known.add(copy)
        return "\n".join(lines)


class _Code:
    """A listing of bytecode, taken apart."""

    def __init__(self, listing: str) -> None:
        row = r"^ *(\d*) *(?:>>)? +\d+ @\S+ +(.*?)(?: -> (\d+))?$"
        line = "?"
        #: line of the program, text, index of what it jumps to
        self.instructions: list[tuple[str, str, int | None]] = []
        for shown, text, target in re.findall(row, listing, re.MULTILINE):
            line = shown or line
            self.instructions.append((line, text, int(target) if target else None))
        row = r"^  (\d+)\.\.(\d+) -> (\d+) (.*)$"
        #: indices of the first, of the one behind the last and of the handler; depth of the stack
        self.handlers = [
            (*map(int, places), depth) for *places, depth in re.findall(row, listing, re.MULTILINE)
        ]

    def copy_start(self) -> int | None:
        """Where a resume function's copy of the program's code begins: behind the jump into it."""
        jumps = (i for i, (_, text, _) in enumerate(self.instructions) if text == "Jump")
        return next((i + 1 for i in jumps), None)

    def copy(self, start: int) -> str:
        """The code from there on, in a form that does not depend on where it begins."""
        instructions = [
            (line, text, None if target is None else target - start)
            for line, text, target in self.instructions[start:]
        ]
        handlers = [(*(at - start for at in places), depth) for *places, depth in self.handlers]
        return repr((instructions, handlers))

    def lines(self) -> list[str]:
        """One line an instruction, with labels for what is jumped to."""
        targets = {target for *_, target in self.instructions if target is not None}
        targets |= {at for *places, _ in self.handlers for at in places}
        labels = {at: f"L{n}" for n, at in enumerate(sorted(targets), 1)}
        lines = []
        for i, (line, text, target) in enumerate(self.instructions):
            if i in labels:
                lines.append(f"{labels[i]}:")
            if i == 0 or line != self.instructions[i - 1][0]:
                lines.append(f"line {line}")
            lines.append(f"  {text}" if target is None else f"  {text} -> {labels[target]}")
        for first, behind, handler, depth in self.handlers:
            lines.append(f"{labels[first]}..{labels[behind]} -> {labels[handler]} {depth}")
        return lines

    def lines_before(self, start: int) -> list[str]:
        """Those before a copy, with the instruction of the copy that they go to."""
        line, _, target = self.instructions[start - 1]
        lines = [f"line {line}", *(f"  {text}" for _, text, _ in self.instructions[: start - 1])]
        line, text, _ = self.instructions[target]
        return [*lines, f"  Jump -> line {line}, {target - start}: {text}"]
