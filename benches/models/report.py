"""The table of `cargo xtask models` and the summary below it."""

from __future__ import annotations

import statistics
import sys
from collections import Counter
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return ""
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.2f} us"


def _verdict(result: dict[str, Any]) -> str:
    own = result["ferrodyn"]
    if "error" in own:
        return "ERROR"
    if not own["difference"]:
        return "yes"
    if result.get("as_torch"):
        return "as torch"
    return "unstable" if "unstable" in result else "NO"


def _row(result: dict[str, Any]) -> list[str]:
    own, other = result["ferrodyn"], result.get("torch") or {}
    capture, call = result.get("capture") or {}, result.get("call") or {}
    ratio = capture.get("ratio")
    return [
        result["name"],
        _verdict(result),
        f"{own.get('graphs', '-')} / {other.get('graphs', 'error' if 'error' in other else '-')}",
        str(len(own.get("breaks", ()))),
        str(own.get("ops", "")),
        str(own.get("fake", "")),
        _duration(capture.get("ours")),
        _duration(capture.get("theirs")),
        f"{ratio:.1f}x" if ratio else "",
        _duration(call.get("eager")),
        _duration(call.get("ours")),
        _duration(call.get("theirs")),
    ]


def table(results: list[dict[str, Any]], title: str) -> None:
    """Print a row for each model, its breaks below it, and what could not be run."""
    made = Table(title=title, title_justify="left", caption_justify="left")
    made.caption = (
        "graphs: ours / torch.compile's. trace: what a first call takes beyond a later one, warm, "
        "and torch's over ours. Times are CPU time; both have the same no-op backend."
    )
    for name in ("model", "equal"):
        made.add_column(name, no_wrap=True)
    for name in ("graphs", "breaks", "nodes", "fake", "trace", "torch's", "ratio"):
        made.add_column(name, justify="right", no_wrap=True)
    for name in ("eager call", "ours", "torch's"):
        made.add_column(name, justify="right", no_wrap=True)
    for result in results:
        if "skipped" not in result:
            made.add_row(*_row(result))
    console = Console(width=None if sys.stdout.isatty() else 180)
    console.print(made)
    for result in results:
        for line in _remarks(result):
            # Text: brackets in it are no markup.
            console.print(Text(line), soft_wrap=True)


def markdown(results: list[dict[str, Any]]) -> str:
    """Return a table in Markdown, a row for each model that ran, and the medians below it."""
    rows = [
        "| | equal | graphs (torch.compile's) | capture | torch.compile's | ratio "
        "| a call: plain / Ferrodyn / torch.compile |",
        "|---|---|---|---|---|---|---|",
    ]
    for result in results:
        if "skipped" in result:
            continue
        name, equal, graphs, _, _, _, ours, theirs, ratio, *calls = _row(result)
        own, other = graphs.split(" / ")
        cells = [name, equal, f"{own} ({other})", ours, theirs, ratio, " / ".join(calls)]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join([*rows, "", *(f"- {line}" for line in _summary_lines(results))]) + "\n"


def _remarks(result: dict[str, Any]) -> list[str]:
    name = result["name"]
    if "skipped" in result:
        return [f"{name}: skipped: {result['skipped'][:200]}"]
    lines = []
    own = result["ferrodyn"]
    for key, other in (("ferrodyn", own), ("torch", result.get("torch") or {})):
        if "error" in other:
            lines.append(f"{name}: {key}: {other['error'][:300]}")
    if own.get("difference"):
        lines.append(f"{name}: differs from eager: {own['difference'][:200]}")
    for what in ("capture", "call"):
        if "error" in (result.get(what) or {}):
            lines.append(f"{name}: {what}: {result[what]['error'][:200]}")
    for reason, count in Counter(own.get("breaks", ())).most_common():
        lines.append(f"{name}: {count} x {reason[:200]}")
    if own.get("fake_ops"):
        asked = ", ".join(f"{op} {count}" for op, count in own["fake_ops"].items())
        lines.append(f"{name}: fake tensors asked for {asked}")
    return lines


def _median(values: list[float]) -> float | None:
    return statistics.median(values) if values else None


def medians(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures that the summary prints."""
    ran = [r for r in results if "ferrodyn" in r]
    equal = [r for r in ran if _verdict(r) == "yes"]
    captures = [r["capture"] for r in ran if "ratio" in (r.get("capture") or {})]
    calls = [r["call"] for r in ran if "eager" in (r.get("call") or {})]
    both = [r for r in ran if "graphs" in r["ferrodyn"] and "graphs" in (r.get("torch") or {})]
    short = [c for c in calls if c["eager"] < 5e-3]
    ratios = [c["ratio"] for c in captures]
    return {
        "models": len(ran),
        "equal": len(equal),
        "as torch": sum(_verdict(r) == "as torch" for r in ran),
        "one graph": sum(r["ferrodyn"].get("graphs") == 1 for r in equal),
        "torch one graph": sum(r["torch"]["graphs"] == 1 for r in both),
        "more graphs than torch": [
            r["name"]
            for r in both
            if r["torch"]["graphs"] and r["ferrodyn"]["graphs"] > r["torch"]["graphs"]
        ],
        "without a break": sum(not r["ferrodyn"]["breaks"] for r in equal),
        "fake tensors": sum(r["ferrodyn"].get("fake", 0) for r in ran),
        "trace": _median([c["ours"] for c in captures]),
        "torch trace": _median([c["theirs"] for c in captures]),
        "ratio": _median(ratios),
        "least ratio": min(ratios, default=None),
        "below a tenth": [
            r["name"] for r in ran if (r.get("capture") or {}).get("ratio", 10.0) < 10.0
        ],
        "call": _median([c["ours"] / c["eager"] for c in calls]),
        "torch call": _median([c["theirs"] / c["eager"] for c in calls]),
        "slower than eager": [
            r["name"]
            for r in ran
            if (c := r.get("call") or {}).get("eager", 1) < 5e-3 and c["ours"] > c["eager"]
        ],
        "short calls": len(short),
    }


def _summary_lines(results: list[dict[str, Any]]) -> list[str]:
    found = medians(results)
    like_torch = f"{found['as torch']} to torch.compile alone, " if found["as torch"] else ""
    lines = [
        f"{found['models']} models: {found['equal']} equal to eager, {like_torch}"
        f"{found['without a break']} of them without a break; "
        f"one graph: {found['one graph']}, torch.compile {found['torch one graph']}; "
        f"fake tensors asked {found['fake tensors']} times"
    ]
    if found["more graphs than torch"]:
        more = ", ".join(found["more graphs than torch"])
        lines.append(f"more graphs than torch.compile: {more}")
    if found["ratio"] is not None:
        lines.append(
            f"trace: median {_duration(found['trace'])}, torch.compile "
            f"{_duration(found['torch trace'])}; median ratio {found['ratio']:.1f}, "
            f"least {found['least ratio']:.1f}"
        )
    if found["below a tenth"]:
        lines.append(f"ratio below 10: {', '.join(found['below a tenth'])}")
    if found["call"] is not None:
        lines.append(
            f"a call over eager's: median {found['call']:.3f}, torch.compile "
            f"{found['torch call']:.3f}; slower than eager, of {found['short calls']} "
            f"below 5 ms: {', '.join(found['slower than eager']) or 'none'}"
        )
    return lines


def summary(results: list[dict[str, Any]]) -> None:
    """Print the medians."""
    console = Console(width=None if sys.stdout.isatty() else 180)
    for line in _summary_lines(results):
        console.print(Text(line), soft_wrap=True)
