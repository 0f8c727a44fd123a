"""Pages of HTML: what was compiled, in a notebook and as the report of a run.

A page is one text with its style and script inside: it opens without a network. Does not live
here: what a record is (`_explain`), and when one is taken (`_report`).
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from . import _explain
from ._explain import BreakReason, Compilation, Place, Record

#: Graphs with more nodes than this are shown as code alone.
_DRAWN = 400

#: Stages of a compilation with their colour and what they are called.
_STAGES = {"tracing": ("tracing", "tracing"), "backend": ("backend", "backend")} | {
    "guards": ("checks", "guards")
}


def _part(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _text(value: object) -> str:
    return html.escape(str(value))


def _pre(text: str) -> str:
    return f"<pre>{_text(text)}</pre>"


def _details(summary: str, body: str, *, is_open: bool = False) -> str:
    return f"<details{' open' if is_open else ''}><summary>{summary}</summary>{body}</details>"


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:,.1f} ms"


def _source(place: Place) -> str:
    lines = []
    for number, text in place.source():
        line = f"{number:5} | {_text(text)}"
        lines.append(f"<mark>{line}</mark>" if number == place.line else line)
    return f"<pre>{chr(10).join(lines)}</pre>" if lines else ""


def _callers(places: list[Place]) -> str:
    rows = "".join(f"<div>called from {_text(place)}</div>" for place in places)
    return _details("Called from", rows) if rows else ""


class _Page:
    def __init__(self, title: str, record: Record) -> None:
        self._title = title
        self._compilations = record.compilations
        #: Breaks that are the same, together: at one place, for one reason.
        self._breaks: dict[tuple[str, str], list[BreakReason]] = {}
        for reason in record.breaks:
            places = reason.places()
            self._breaks.setdefault((reason.reason, str(places[:1])), []).append(reason)

    def body(self) -> str:
        again = [c for c in self._compilations if c.recompile_reasons]
        parts = [f"<h1>{_text(self._title)}</h1>", self._summary(len(again))]
        if self._breaks:
            parts.append('<h2 id="breaks">Graph breaks</h2>')
            parts.append(
                '<div class="sum">Where a graph ended before its function did, and what runs in '
                "eager mode therefore.</div>"
            )
            groups = enumerate(self._breaks.values(), 1)
            parts += [self._break(number, group) for number, group in groups]
        if again:
            parts.append('<h2 id="recompilations">Recompilations</h2>')
            parts.append(
                '<div class="sum">A call for which the code that was there could not be used: the '
                "guard that failed, what it expected and what it got.</div>"
            )
            parts += self._recompilations()
        parts.append(self._timeline())
        parts.append('<h2 id="compilations">Compilations</h2>')
        numbered = enumerate(self._compilations, 1)
        parts += [self._compilation(number, c) for number, c in numbered]
        parts.append(_times(self._compilations))
        return "".join(parts)

    def _summary(self, again: int) -> str:
        graphs = [graph for c in self._compilations for graph in c.graphs]
        operations = sum(graph.operations for graph in graphs)
        spent = sum(c.spent for c in self._compilations)
        broken = sum(map(len, self._breaks.values()))
        chips = [
            f'<a href="#compilations">{len(self._compilations)} compilations</a>',
            f"<span>{len(graphs)} graphs, {operations} operations</span>",
            f'<a class="warn" href="#breaks">{broken} graph breaks</a>'
            if broken
            else "<span>no graph breaks</span>",
            f'<a class="again" href="#recompilations">{again} recompilations</a>'
            if again
            else "<span>no recompilations</span>",
            f"<span>{spent:.2f} s compiling</span>",
        ]
        return f'<div class="chips">{"".join(chips)}</div>'

    def _number(self, compilation: Compilation) -> int:
        return self._compilations.index(compilation) + 1

    def _link(self, c: Compilation) -> str:
        return f'<a href="#compilation-{self._number(c)}">[{_text(c.id)}] {_text(c.place)}</a>'

    def _break(self, number: int, group: list[BreakReason]) -> str:
        reason = group[0]
        times = f" (in {len(group)} compilations)" if len(group) > 1 else ""
        places = reason.places()
        parts = [f"<b>Graph break {number}: {_text(reason.reason)}</b>{times}"]
        if places:
            parts += [f"<div>{_text(places[0])}</div>", _source(places[0])]
            parts.append(_callers(places[1:]))
        parts.append(f"<div>{_text(reason.explanation)}</div>")
        parts += [f'<div class="hint">What to change: {_text(hint)}</div>' for hint in reason.hints]
        met = [c for c in self._compilations if any(reason in c.breaks for reason in group)]
        if met:
            parts.append(f'<div class="why">Met in {", ".join(map(self._link, met))}</div>')
        return f'<div class="brk" id="break-{number}">{"".join(parts)}</div>'

    def _recompilations(self) -> Iterable[str]:
        """Recompilations of one function stand together, in their order."""
        functions: dict[tuple[Place, bool, str], list[Compilation]] = {}
        for c in self._compilations:
            functions.setdefault((c.place, c.resumes, c.id.split("/")[0]), []).append(c)
        for (place, resumes, _), all_of_it in functions.items():
            again = [c for c in all_of_it if c.recompile_reasons]
            if not again:
                continue
            part = ", behind a graph break" if resumes else ""
            parts = [f"<b>{_text(place)}</b>{part}: compiled {len(all_of_it)} times"]
            parts += [f"<div>{self._link(c)} was compiled because</div>{_again(c)}" for c in again]
            yield f'<div class="rec">{"".join(parts)}</div>'

    def _timeline(self) -> str:
        if not self._compilations:
            return ""
        began = min(c.started for c in self._compilations)
        whole = max(*(c.started - began + c.spent for c in self._compilations), 1e-6)
        rows = []
        for number, c in enumerate(self._compilations, 1):
            bars = []
            left = c.started - began
            taken = 0.0
            for stage, (colour, _) in _STAGES.items():
                seconds = c.seconds.get(stage, 0.0)
                bars.append(_bar(colour, (left + taken) / whole, seconds / whole))
                taken += seconds
            bars.append(_bar("rest", (left + taken) / whole, max(c.spent - taken, 0) / whole))
            title = f"[{c.id}] {c.function}{', resumed' if c.resumes else ''}"
            rows.append(
                f'<div class="row"><a href="#compilation-{number}">{_text(title)}</a>'
                f'<div class="bar">{"".join(bars)}</div>'
                f'<span class="num">{_milliseconds(c.spent)}</span></div>'
            )
        key = "".join(
            f'<i class="{colour}"></i>{name}'
            for colour, name in [*_STAGES.values(), ("rest", "the rest")]
        )
        return (
            f'<h2>Timeline</h2><div class="sum key">{whole:.3f} s from the first compilation to '
            f"the end of the last {key}</div>{''.join(rows)}"
        )

    def _compilation(self, number: int, c: Compilation) -> str:
        good = c.outcome == "compiled"
        outcome = f"<span{'' if good else ' class=bad'}>{_text(c.outcome)}</span>"
        head = f"[{_text(c.id)}] <b>{_text(c.place)}</b>: {outcome}, {_milliseconds(c.spent)}"
        if c.resumes:
            head += ", behind a graph break"
        if c.recompile_reasons:
            head += " (recompilation)"
        stages = ", ".join(f"{name} {_milliseconds(s)}" for name, s in c.seconds.items())
        parts = [f'<div class="sum">{stages}</div>'] if stages else []
        parts.append(_callers(c.callers()))
        if c.recompile_reasons:
            parts.append(f'<div class="rec"><b>Recompiled because</b>{_again(c)}</div>')
        groups = enumerate(self._breaks.values(), 1)
        parts += [
            f'<div>Ends at <a href="#break-{of}">graph break {of}: {_text(met[0].reason)}</a></div>'
            for of, met in groups
            if any(reason in c.breaks for reason in met)
        ]
        for graph in c.graphs:
            title = f"Graph {_text(graph.name)}: {graph.operations} operations"
            parts.append(_details(title, _drawing(graph.dot) + _pre(graph.code)))
        parts += [_guards(c), _specialised(c), _code(c)]
        body = _details(head, "".join(parts), is_open=len(self._compilations) <= 3)
        return f'<div id="compilation-{number}">{body}</div>'


def _again(c: Compilation) -> str:
    """Return why code that was there could not be used: each reason with the line behind it."""
    pairs = dict.fromkeys(zip(c.recompile_reasons, c.recompile_lines, strict=True))
    return "".join(
        f"<div>&emsp;<code>{_text(reason)}</code>"
        + (f' <span class="why">{_line(line)}</span>' if line else "")
        + "</div>"
        for reason, line in pairs
    )


def _line(shown: str) -> str:
    """Return a line of the program as a failure names it, with a place that is short."""
    text, _, place = shown.removeprefix("# ").rpartition("  # ")
    short = place.rpartition("/")[2]
    where = f'<span title="{_text(place)}">{_text(short)}</span>'
    return f"— looked at by <code>{_text(text)}</code> {where}"


def _asked_by(guard: _explain.Guard) -> str:
    """Return the line that asked for a guard, with a place that is short."""
    if not guard.place:
        return ""
    short = guard.place.rpartition("/")[2]
    where = f'<span title="{_text(guard.place)}">{_text(short)}</span>'
    return f"{_text(guard.why)} {where}"


def _bar(colour: str, left: float, width: float) -> str:
    if width <= 0:
        return ""
    return f'<i class="{colour}" style="left:{left:.3%};width:{width:.3%}"></i>'


def _drawing(dot: str) -> str:
    """Return the place of a drawing, with its nodes and edges, from Graphviz's language."""
    nodes: list[list[Any]] = []
    edges = []
    for line in dot.splitlines():
        line = line.strip().rstrip(";")
        if "->" in line:
            edges.append([end.strip() for end in line.split("->")])
        elif '[label="' in line:
            name, label = line.split(' [label="', 1)
            label, _, shape = label.rpartition('"')
            title, _, does = label.replace('\\"', '"').partition("\\n")
            does = does.split(" ", 1)[-1]
            shown = title if "ellipse" in shape else f"{title}: {does.rsplit('.', 1)[-1]}"
            nodes.append([name, shown[:22], "ellipse" in shape])
    if not 0 < len(nodes) <= _DRAWN:
        return ""
    data = json.dumps({"nodes": nodes, "edges": edges})
    return f'<div class="drawing" data-graph="{html.escape(data)}"></div>'


def _guards(c: Compilation) -> str:
    """Return the tree of guards: what each costs, and how often it failed."""
    checks = c.checks()
    if not checks:
        return ""
    title = f"{len(checks)} guards: {_text(c.guards_by_kind())}"
    if c.check is not None:
        title += f"; a check of all takes {c.check:.2f} µs"
    rows = [
        '<colgroup><col><col class="few"><col class="few"><col class="line"></colgroup>',
        "<tr><th>Guard</th><th>Failed</th><th>ns alone</th><th>Asked for by</th></tr>",
    ]
    for line in c.guard_lines:
        failed = c.failures.get(line.code, 0) if line.kind else 0
        cost = "" if line.nanoseconds is None else f"{line.nanoseconds:.0f}"
        said = f"<b>{_text(line.kind)}</b> {_text(line.says)}" if line.kind else _text(line.says)
        style = "failed" if failed else "" if line.kind else "read"
        rows.append(
            f'<tr class="{style}"><td style="padding-left:{line.depth * 14}px">{said}</td>'
            f'<td class="num">{failed or ""}</td><td class="num">{cost}</td>'
            f'<td class="why">{_asked_by(line)}</td></tr>'
        )
    note = (
        '<div class="sum">Grey lines are values that are read for the guards below them. The cost '
        "is that of the first check; later checks leave out what is watched.</div>"
    )
    return _details(title, f'{note}<div class="guards"><table>{"".join(rows)}</table></div>')


def _specialised(compilation: Compilation) -> str:
    rows = "".join(
        f'<tr><td>{_text(guard.says)}</td><td class="why">{_asked_by(guard)}</td></tr>'
        for guard in _explain.specialised(compilation)
    )
    columns = '<colgroup><col><col class="line"></colgroup>'
    table = f'<div class="guards"><table>{columns}{rows}</table></div>'
    return _details("Specialised values", table) if rows else ""


def _code(c: Compilation) -> str:
    if not c.bytecode:
        return ""
    import linecache

    lines = linecache.getlines(c.file)[c.line - 1 :]
    source = "".join(_block(lines)) or "(the source is not in a file)"
    sides = (
        f"<div><h3>Source</h3>{_pre(source)}</div>"
        f"<div><h3>What runs instead, as Python</h3>{_pre(c.python)}</div>"
    )
    note = (
        '<div class="sum">A tuple that begins with <code>__continue</code> is the call of a resume '
        "function: it goes on behind the break.</div>"
    )
    bytecode = _details("Bytecode before and after", _pre(c.bytecode))
    return _details("Source, and what runs instead", f'{note}<div class="side">{sides}</div>') + (
        bytecode
    )


def _block(lines: list[str]) -> list[str]:
    """Return the lines of the block that begins a list of lines."""
    import inspect

    try:
        return inspect.getblock(lines)
    except (IndentationError, SyntaxError):
        return lines[:1]


def _times(compilations: list[Compilation]) -> str:
    stages, functions = _explain.times(compilations)
    rows = "".join(
        f'<tr><td>{_text(name)}</td><td class="num">{_milliseconds(seconds)}</td></tr>'
        for name, seconds in [*stages.items(), *functions.items()]
    )
    return f"<h2>Time by stage and by function</h2><table>{rows}</table>"


def notebook(record: Record) -> str:
    """Return what a notebook shows for an explanation."""
    body = _Page("What Ferrodyn captured", record).body()
    style, script = _part("_page.css"), _part("_page.js")
    return f'<style>{style}</style><div class="fd">{body}</div><script>{script}</script>'


def report(title: str, record: Record) -> str:
    """Return the page of a run."""
    body = _Page(title, record).body()
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{_text(title)}</title>'
        f'<style>{_part("_page.css")}</style></head><body><div class="fd">{body}</div>'
        f"<script>{_part('_page.js')}</script></body></html>\n"
    )
