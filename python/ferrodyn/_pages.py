"""Pages of HTML: what was compiled, in a notebook and as the report of a run.

A page is one text with its style and script inside: it opens without a network. Does not live
here: what a record is (`_explain`), and when one is taken (`_report`).
"""

from __future__ import annotations

import html
import json
from typing import Any

from . import _explain
from ._explain import BreakReason, Compilation

_STYLE = """
.fd{font:14px/1.45 system-ui,sans-serif;color:#1c2430;max-width:1200px;margin:0 auto}
.fd h1{font-size:22px;margin:16px 0 4px}.fd h2{font-size:17px;margin:22px 0 6px}
.fd pre{font:12px/1.5 ui-monospace,monospace;background:#f5f7fa;padding:8px 10px;overflow:auto;
margin:6px 0;border-radius:4px;white-space:pre}
.fd .sum{color:#51606f}.fd mark{background:#ffe3a3;display:inline-block;min-width:100%}
.fd .brk{border-left:4px solid #d9822b;padding:2px 12px;margin:10px 0}
.fd .rec{border-left:4px solid #2d72d2;padding:2px 12px;margin:10px 0}
.fd .hint{color:#1c6e42}.fd details{margin:4px 0;border:1px solid #dfe5ec;border-radius:4px;
padding:4px 10px}.fd summary{cursor:pointer}.fd table{border-collapse:collapse;margin:6px 0}
.fd td,.fd th{padding:2px 10px 2px 0;text-align:left;vertical-align:top}
.fd .bad{color:#a13030}.fd .side{display:grid;grid-template-columns:1fr 1fr;gap:10px}
.fd svg text{font:11px system-ui,sans-serif}.fd .line{position:relative;height:20px;margin:1px 0}
.fd .line i{position:absolute;top:2px;height:16px;background:#7aa7e0;border-radius:2px;
min-width:3px}.fd .line a{position:absolute;left:0;white-space:nowrap;font-size:12px;
color:#1c2430;text-decoration:none}.fd a{color:#215db0}
"""

#: Draws each element with a graph in its data: nodes in rows by how far they are from an input.
_SCRIPT = """
document.querySelectorAll('[data-graph]').forEach(function(box){
 var g=JSON.parse(box.dataset.graph),row={},rows=[],at={},W=150,H=46;
 g.nodes.forEach(function(n){var r=0;g.edges.forEach(function(e){
  if(e[1]==n[0]&&row[e[0]]!==undefined)r=Math.max(r,row[e[0]]+1)});
  row[n[0]]=r;(rows[r]=rows[r]||[]).push(n)});
 var w=Math.max.apply(0,rows.map(function(r){return r.length}))*W,s='';
 rows.forEach(function(r,y){r.forEach(function(n,x){
  at[n[0]]=[(x+.5)*w/r.length,y*H+18]})});
 g.edges.forEach(function(e){var a=at[e[0]],b=at[e[1]];if(a&&b)s+='<path d="M'+a[0]+' '+
  (a[1]+12)+' C'+a[0]+' '+(a[1]+26)+' '+b[0]+' '+(b[1]-26)+' '+b[0]+' '+(b[1]-12)+
  '" fill="none" stroke="#9aa7b5"/>'});
 g.nodes.forEach(function(n){var p=at[n[0]],d=document.createElement('b');d.textContent=n[1];
  s+='<rect x="'+(p[0]-68)+'" y="'+(p[1]-12)+'" width="136" height="24" rx="'+(n[2]?12:3)+
  '" fill="#fff" stroke="#5c7080"/><text x="'+p[0]+'" y="'+(p[1]+4)+
  '" text-anchor="middle">'+d.innerHTML+'</text>'});
 box.innerHTML='<svg width="'+w+'" height="'+rows.length*H+'">'+s+'</svg>'});
"""

#: Graphs with more nodes than this are shown as code alone.
_DRAWN = 400


def _text(value: object) -> str:
    return html.escape(str(value))


def _pre(text: str) -> str:
    return f"<pre>{_text(text)}</pre>"


def _details(summary: str, body: str, *, is_open: bool = False) -> str:
    return f"<details{' open' if is_open else ''}><summary>{summary}</summary>{body}</details>"


def _source(place: _explain.Place) -> str:
    lines = []
    for number, text in place.source():
        line = f"{number:5} | {_text(text)}"
        lines.append(f"<mark>{line}</mark>" if number == place.line else line)
    return f"<pre>{chr(10).join(lines)}</pre>" if lines else ""


def _break(number: int, reason: BreakReason) -> str:
    places = reason.places()
    parts = [f"<b>Graph break {number}: {_text(reason.reason)}</b>"]
    if places:
        parts += [f"<div>{_text(places[0])}</div>", _source(places[0])]
        callers = "".join(f"<div>called from {_text(place)}</div>" for place in places[1:])
        if callers:
            parts.append(_details("Called from", callers))
    parts.append(f"<div>{_text(reason.explanation)}</div>")
    parts += [f'<div class="hint">What to change: {_text(hint)}</div>' for hint in reason.hints]
    return f'<div class="brk" id="break-{number}">{"".join(parts)}</div>'


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
            nodes.append([name, shown[:24], "ellipse" in shape])
    if not 0 < len(nodes) <= _DRAWN:
        return ""
    data = json.dumps({"nodes": nodes, "edges": edges})
    return f'<div data-graph="{html.escape(data)}" style="overflow:auto"></div>'


def _guards(compilation: Compilation) -> str:
    guards = _explain.guards_of(compilation.guards)
    if not guards:
        return ""
    title = f"{len(guards)} guards: {compilation.guards_by_kind()}"
    return _details(title, _pre(compilation.guards))


def _specialised(compilation: Compilation) -> str:
    rows = "".join(
        f"<tr><td><code>{_text(guard.says)}</code></td><td>{_text(guard.why)}</td></tr>"
        for guard in _explain.specialised(compilation)
    )
    return _details("Specialised values", f"<table>{rows}</table>") if rows else ""


def _code(compilation: Compilation) -> str:
    if not compilation.bytecode:
        return ""
    import linecache

    lines = linecache.getlines(compilation.file)[compilation.line - 1 :]
    source = "".join(_block(lines)) or "(the source is not in a file)"
    return _details(
        "Source, and the bytecode before and after",
        f'<div class="side">{_pre(source)}{_pre(compilation.bytecode)}</div>',
    )


def _block(lines: list[str]) -> list[str]:
    """Return the lines of the block that begins a list of lines."""
    import inspect

    try:
        return inspect.getblock(lines)
    except (IndentationError, SyntaxError):
        return lines[:1]


def _compilation(number: int, compilation: Compilation) -> str:
    good = compilation.outcome == "compiled"
    outcome = f"<span{'' if good else ' class=bad'}>{_text(compilation.outcome)}</span>"
    took = f"{compilation.spent * 1e3:.2f} ms"
    head = f"[{compilation.id}] <b>{_text(compilation.place)}</b>: {outcome}, {took}"
    stages = ", ".join(f"{name} {s * 1e3:.2f} ms" for name, s in compilation.seconds.items())
    parts = [f'<div class="sum">{stages}</div>'] if stages else []
    if compilation.recompile_reasons:
        reasons = "".join(f"<div>{_text(r)}</div>" for r in compilation.recompile_reasons)
        parts.append(f'<div class="rec"><b>Recompiled because</b>{reasons}</div>')
    for graph in compilation.graphs:
        body = _drawing(graph.dot) + _pre(graph.code)
        parts.append(_details(f"Graph {_text(graph.name)}: {graph.operations} operations", body))
    parts += [_guards(compilation), _specialised(compilation), _code(compilation)]
    body = "".join(parts)
    return f'<div id="compilation-{number}">{_details(head, body, is_open=number <= 3)}</div>'


def _timeline(compilations: list[Compilation]) -> str:
    if len(compilations) < 2:
        return ""
    began = compilations[0].started
    whole = max(*(c.started - began + c.spent for c in compilations), 1e-6)
    lines = []
    for number, c in enumerate(compilations, 1):
        left, width = (c.started - began) / whole * 100, c.spent / whole * 100
        title = f"[{c.id}] {c.function} {c.spent * 1e3:.1f} ms"
        lines.append(
            f'<div class="line"><i style="left:{left:.2f}%;width:{width:.2f}%"></i>'
            f'<a href="#compilation-{number}">{_text(title)}</a></div>'
        )
    title = f"<h2>Timeline, {whole:.3f} s from the first compilation to the last</h2>"
    return title + "".join(lines)


def _times(compilations: list[Compilation]) -> str:
    stages, functions = _explain.times(compilations)
    rows = "".join(
        f"<tr><td>{_text(name)}</td><td>{seconds * 1e3:.2f} ms</td></tr>"
        for name, seconds in [*stages.items(), *functions.items()]
    )
    return f"<h2>Time by stage and by function</h2><table>{rows}</table>"


def _body(title: str, compilations: list[Compilation], breaks: list[BreakReason]) -> str:
    graphs = [graph for compilation in compilations for graph in compilation.graphs]
    again = sum(bool(compilation.recompile_reasons) for compilation in compilations)
    summary = (
        f"{len(compilations)} compilations, {len(graphs)} graphs, "
        f"{sum(graph.operations for graph in graphs)} operations, {len(breaks)} graph breaks, "
        f"{again} recompilations"
    )
    parts = [f'<h1>{_text(title)}</h1><div class="sum">{summary}</div>']
    if breaks:
        parts.append("<h2>Graph breaks</h2>")
        parts += [_break(number, reason) for number, reason in enumerate(breaks, 1)]
    if again:
        parts.append("<h2>Recompilations</h2>")
        parts += [
            f'<div class="rec"><a href="#compilation-{number}">[{c.id}] {_text(c.place)}</a>'
            + "".join(f"<div>{_text(reason)}</div>" for reason in c.recompile_reasons)
            + "</div>"
            for number, c in enumerate(compilations, 1)
            if c.recompile_reasons
        ]
    parts.append(_timeline(compilations))
    parts.append("<h2>Compilations</h2>")
    parts += [_compilation(number, c) for number, c in enumerate(compilations, 1)]
    parts.append(_times(compilations))
    return "".join(parts)


def notebook(compilations: list[Compilation], breaks: list[BreakReason]) -> str:
    """Return what a notebook shows for an explanation."""
    body = _body("What Ferrodyn captured", compilations, breaks)
    return f'<style>{_STYLE}</style><div class="fd">{body}</div><script>{_SCRIPT}</script>'


def report(title: str, compilations: list[Compilation], breaks: list[BreakReason]) -> str:
    """Return the page of a run."""
    body = _body(title, compilations, breaks)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{_text(title)}</title>'
        f'<style>{_STYLE}</style></head><body><div class="fd">{body}</div>'
        f"<script>{_SCRIPT}</script></body></html>\n"
    )
