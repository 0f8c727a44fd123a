"""`explain`: what it says of breaks, recompilations and values, as text and as a page."""

from __future__ import annotations

import os
from html.parser import HTMLParser

import ferrodyn
import forked
import pytest
import torch
from ferrodyn import _explain, _pages, _report

pytestmark = [pytest.mark.own, pytest.mark.once]

X = torch.ones(3)


def inner(x):
    y = x + 1
    torch._dynamo.graph_break("for the test")
    return y * 2


def outer(x, n):
    return inner(x).sin() + n


class Text(HTMLParser):
    """The words of a page, and whether its elements are closed in order."""

    def __init__(self, page):
        super().__init__()
        self.words, self.links, self.ids, self.open = [], [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.links += [attributes[name] for name in ("href", "src") if name in attributes]
        self.ids += [attributes["id"]] if "id" in attributes else []
        if tag not in ("meta", "col"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(self.words)


def test_a_break_shows_the_line_the_stack_why_and_what_to_change():
    out = ferrodyn.explain(outer)(X, 4)
    (reason,) = out.break_reasons
    places = reason.places()
    assert [place.function for place in places[:2]] == ["inner", "outer"]
    assert all("ferrodyn/_explain" not in place.file for place in places)
    text = str(out)
    line = inner.__code__.co_firstlineno + 2
    for part in (
        f"> {line:4} |     torch._dynamo.graph_break(",
        f"called from {__file__}:{outer.__code__.co_firstlineno + 1} in outer",
        "Why: User-inserted graph break. Message: for the test",
        "What to change: Remove the `graph_break()` call.",
    ):
        assert part in text


def test_graphs_guards_values_and_times():
    out = ferrodyn.explain(outer)(X, 4)
    first = out.compilations[0]
    assert (first.function, first.outcome, first.id) == ("outer", "compiled", "0/0")
    assert [graph.operations for c in out.compilations for graph in c.graphs] == [1, 1, 2]
    assert {"tracing", "backend", "guards", "total"} <= set(first.seconds)
    kinds = {guard.kind for guard in first.checks()}
    assert {"TENSOR_MATCH", "GLOBAL_STATE"} <= kinds
    specialised = [g for c in out.compilations for g in _explain.specialised(c)]
    assert any(g.says.endswith("== 4") and "inner(x).sin() + n" in g.why for g in specialised)
    text = str(out)
    assert "operations:\n    def forward(" in text and "1 TENSOR_MATCH" in text
    assert "MODIFIED BYTECODE" in first.bytecode
    assert sum(_explain.times(out.compilations)[1].values()) > 0


def test_recompilations_name_the_value_that_changed():
    def callee(x, name):
        return x * len(name)

    compiled = ferrodyn.compile(callee, backend="eager")
    record = _report.Recording()
    compiled(X, "abc")
    compiled(X, "abcd")
    made = record.end()
    (last,) = [c for c in made.compilations if "actual 'abcd'" in " ".join(c.recompile_reasons)]
    assert last.function == "callee" and not made.breaks
    (first,) = [c for c in made.compilations if c.id == last.id.replace("/1", "/0")]
    # The guard that failed is one of the first compilation, and is counted there.
    ((code, count),) = first.failures.items()
    assert count == 1 and code in [guard.code for guard in first.checks()]
    assert f"Recompiled because {last.recompile_reasons[0]}" in "\n".join(_explain.text_of(made))


def test_what_raises_is_in_the_record():
    record = _report.Recording()
    with pytest.raises(ferrodyn.exc.Unsupported):
        ferrodyn.compile(inner, backend="eager", fullgraph=True)(X)
    made = record.end()
    assert "graph_break" in made.compilations[0].outcome and len(made.breaks) == 1


def test_the_page_is_whole_and_needs_no_network():
    out = ferrodyn.explain(outer)(X, 4)
    for page in (out._repr_html_(), _pages.report("t", out.record())):
        parsed = Text(page)
        assert not parsed.open
        assert all(link.startswith("#") for link in parsed.links)
        assert {link.removeprefix("#") for link in parsed.links} <= set(parsed.ids)
        assert "http" not in page.replace("http-equiv", "")
        for part in ("Graph break 1", "called from", "for the test", "def forward", "MODIFIED"):
            assert part in parsed.text


def test_text_of_a_program_is_escaped():
    place = {"file": "<i>", "line": 1, "function": "<lambda>"}
    compilation = _explain.Compilation(
        id="0/0", **place, started=0.0, seconds={}, instructions=0, graphs=[], breaks=[],
        guards="", bytecode="", recompile_reasons=["<script>"], recompile_lines=["<u>"],
        outcome="<b>", stack=[], resumes=False,
        guard_lines=[], failures={}, check=None, python="",
    )  # fmt: skip
    breaks = [_explain.BreakReason("<script>alert()</script>")]
    page = _pages.notebook(_explain.Record([compilation], breaks))
    assert "<lambda>" not in page and "alert()</script>" not in page and "<i>:" not in page


PROGRAM = """\
import sys, threading, torch
@torch.compile(backend="eager")
def f(x, n):
    y = x * len(n)
    torch._dynamo.graph_break()
    return y.relu() + 1
for n in ("a", "ab"):
    f(torch.ones(2), n)
thread = threading.Thread(target=f, args=(torch.ones(2), "abc"))
thread.start()
thread.join()
print("end of", sys.argv[1])
"""


def test_a_program_is_explained_and_traced(tmp_path):
    # One process for both: that of a program costs seconds.
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = forked.run(
        ["-m", "ferrodyn", "explain", program, "it"],
        env={**os.environ, "FERRODYN_TRACE": str(tmp_path / "traces")},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "end of it\n"
    page, trace = sorted((tmp_path / "traces").iterdir(), key=lambda path: path.suffix)
    assert trace.suffix == ".log" and trace.name.startswith("dedicated_log_torch_trace_")
    for text in (done.stderr, Text(page.read_text()).text):
        assert "expected 'a', actual 'ab'" in text
        assert "actual 'abc'" in text  # of the other thread
        assert "program.py:5 in f" in text and "What to change" in text


def test_nothing_was_compiled():
    with ferrodyn.config.patch(disable=True):
        out = ferrodyn.explain(lambda x: x + 1)(torch.ones(2))
    assert out.compilations == [] and "Graph Count: 0" in str(out)
    assert "0 compilations" in out._repr_html_()
