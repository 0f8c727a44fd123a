"""Models below a compiler: how often each size is compiled for, and whether results stay eager's.

Ferrodyn and torch.compile hand their graphs to the same backend, which counts them and their
operations on tensors. Results, gradients and buffers may differ from eager's by what the order of
a compiler's operations makes of them. With that go the CPU time of a call, measured in turns, and
that of the first call of a process (`first.py`).
"""

from __future__ import annotations

import argparse
import re
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import first
import second
import times
import torch

from models.case import Case, called, left, length, module_of

#: Batches, and lengths of texts, that one model is called with in turn.
BATCHES = (2, 3, 4, 5, 7)
LENGTHS = (8, 9, 12, 17)
#: Relative and absolute tolerance for floats of single precision.
TOLERANCES = {"aot_eager": (1e-4, 1e-5), "inductor": (1e-3, 1e-4)}


def measure(case: Case, options: argparse.Namespace) -> dict[str, Any]:
    """Return for each meaning of `dynamic` and compiler what a model's calls come to."""
    import torch._inductor.config

    # Dropout draws what it draws in eager mode.
    torch._inductor.config.fallback_random = True
    found: dict[str, Any] = {}
    for dynamic in (None, True) if options.sizes else (None,):
        try:
            expected = list(_results(case, options, lambda fn: fn))
        except Exception as error:
            return {"skipped": f"eager: {type(error).__name__}: {str(error)[:300]}"}
        for name, compile in _compilers().items():
            found[f"{name} dynamic={dynamic}"] = _compiled(
                case, options, expected, lambda fn, b, c=compile, d=dynamic: c(fn, b, d)
            )
    return found


def timed(case: Case, options: argparse.Namespace) -> dict[str, Any]:
    """Return what a call takes, and the first one of a process, in CPU seconds."""
    return times.measured({"call": times.calls, "first": first.measure}, case, options)


def again(case: Case, options: argparse.Namespace) -> dict[str, Any]:
    """Return whether a second process gives what the first gives, and what it has found."""
    return times.measured({"second": second.measure}, case, options)


def _compilers() -> dict[str, Callable[[Any, Any, Any], Any]]:
    import ferrodyn

    torch._dynamo.reset()
    ferrodyn.reset()
    return {
        "ferrodyn": lambda fn, backend, d: ferrodyn.compile(fn, backend=backend, dynamic=d),
        "torch": lambda fn, backend, d: torch.compile(fn, backend=backend, dynamic=d),
    }


def _compiled(
    case: Case, options: argparse.Namespace, expected: list[Any], compile: Any
) -> dict[str, Any]:
    graphs: list[int] = []
    inner = torch._dynamo.lookup_backend(options.backend)

    from torch._dynamo.backends.common import AotAutograd

    class Counting(AotAutograd):
        """Derives from torch's, so that it is known for a compiler, as `options.backend` is."""

        def __call__(self, graph: Any, inputs: list[Any], **kwargs: Any) -> Any:
            made = inner(graph, inputs)
            # Behind the call: an attempt after which the backend asks for another is none.
            graphs.append(_operations(graph.graph))
            return made

    backend = Counting()
    start = time.perf_counter()
    try:
        found = _results(case, options, lambda fn: compile(fn, backend))
        off, first_graphs = [], 0
        for one, other in zip(expected, found, strict=True):
            first_graphs = first_graphs or len(graphs)
            off.append(difference(one, other, options.backend))
    except Exception as error:
        return {"error": f"{type(error).__name__}: {str(error)[:300]}", "graphs": len(graphs)}
    return {
        "graphs": len(graphs),
        "ops": sum(graphs),
        "first": first_graphs,
        "difference": next(filter(None, off), ""),
        "seconds": time.perf_counter() - start,
    }


def _operations(graph: torch.fx.Graph) -> int:
    """Return how many nodes of a graph are operations on tensors.

    Not those that only compute sizes, of which there may be fewer for the same operations.
    """

    def gives_numbers(node: torch.fx.Node) -> bool:
        values = torch.utils._pytree.tree_leaves(node.meta.get("example_value"))
        numbers = (int, float, torch.SymInt, torch.SymFloat, torch.SymBool)
        return bool(values) and all(isinstance(value, numbers) for value in values)

    return sum(node.op.startswith("call") and not gives_numbers(node) for node in graph.nodes)


def _results(
    case: Case, options: argparse.Namespace, compile: Callable[[Any], Any]
) -> Iterator[Any]:
    """Yield what each call gives, and behind the last buffers and gradients."""
    fn = case.build()
    module = module_of(fn)
    if options.train and isinstance(fn, torch.nn.Module):
        fn.train()
    target = compile(fn)
    grad = case.grad or options.train
    batches = BATCHES if options.sizes and case.batched else (2, 2)
    sizes = [(batch, None) for batch in batches]
    if options.sizes and case.takes_lengths:
        sizes += [(2, n) for n in LENGTHS]
    for batch, size in sizes:
        with length(size):
            inputs = case.inputs(batch)
        yield called(target, inputs, grad)
    yield from left(module)


def difference(one: Any, other: Any, backend: str) -> str:
    """Return what differs first by more than the tolerance, or an empty text."""
    flat = torch.utils._pytree.tree_flatten_with_path
    (ours, _), (theirs, _) = flat(one), flat(other)
    if [path for path, _ in ours] != [path for path, _ in theirs]:
        return "results have another structure"
    relative, absolute = TOLERANCES.get(backend, (1e-4, 1e-5))
    for (path, a), (_, b) in zip(ours, theirs, strict=True):
        where = torch.utils._pytree.keystr(path) or "result"
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
            try:
                torch.testing.assert_close(b, a, rtol=relative, atol=absolute, equal_nan=True)
            except AssertionError as error:
                return f"{where}: {' '.join(str(error).split())[:150]}"
        elif type(a) is not type(b):
            return f"{where}: {type(a).__name__} and {type(b).__name__}"
        elif isinstance(a, (bool, int, float, str)) and a != b:
            return f"{where}: {a!r} and {b!r}"
    return ""


def line(name: str, found: dict[str, Any]) -> str:
    """Return a model's results in one line."""
    cells = []
    for how, said in _counted(found):
        about = said.get("error") or said.get("difference") or ""
        count = f"{said['graphs']} graphs {said.get('ops', 0)} ops"
        seconds = f" {said['seconds']:.1f} s" if "seconds" in said else ""
        cells.append(f"{how}: {count}{seconds}{' ' + about if about else ''}")
    for key in ("call", "first"):
        if said := found.get(key):
            cells.append(said.get("error") or f"{key} {' / '.join(_figures(said))}")
    if said := found.get("second"):
        cells.append(said.get("error") or _second(said))
    return f"{name:30} " + "  |  ".join(cells)


def _second(said: dict[str, Any]) -> str:
    """Return in words what two processes gave."""
    cold, warm = said["seconds"]
    kept = ", ".join(f"{taken} of {all} {what}" for what in _KEPT for all, taken in [said[what]])
    line = f"{said['differs'] or 'equal'}, {cold:.2f} s, then {warm:.2f} s with {kept}"
    if "warm" in said:
        ours, theirs = said["warm"]["ferrodyn"], said["warm"]["torch"]
        imports = ", ".join(said["warm"]["imports"]) or "nothing"
        line += f"; warm {ours:.3f} s, torch.compile {theirs:.2f} s: {theirs / ours:.0f} times"
        line += f" ({imports} imported)"
    return line


def _second_cells(said: dict[str, Any]) -> list[str]:
    """Return the same as cells of a table."""
    if "error" in said:
        return ["error", *["-"] * (1 + len(_KEPT))]
    seconds = " / ".join(f"{value:.2f}" for value in said["seconds"])
    counts = (f"{taken} of {all}" for all, taken in map(said.get, _KEPT))
    return ["no" if said["differs"] else "yes", seconds, *counts]


#: What is kept for another process.
_KEPT = ("captures", "artifacts")


def _counted(found: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(how, said) for how, said in found.items() if " dynamic=" in how]


def _figures(said: dict[str, Any]) -> list[str]:
    """Return all figures of one measurement."""
    return [f"{key} {value:.3g} s" for key, value in said.items() if isinstance(value, float)]


def faults(found: dict[str, Any]) -> list[str]:
    """Return in what Ferrodyn is worse than torch.compile: results, graphs, operations."""
    said = []
    if about := found.get("second"):
        problem = about.get("error") or about["differs"]
        said += [f"second process: {problem}"] if problem else []
    for how, ours in _counted(found):
        if not how.startswith("ferrodyn"):
            continue
        theirs = found[how.replace("ferrodyn", "torch")]
        about = how.partition(" ")[2]
        broken = "error" in theirs or theirs["difference"]
        problem = ours.get("error") or ours.get("difference")
        if problem and not broken:
            said.append(f"{about}: {problem}")
        if "error" in theirs or "error" in ours:
            continue
        # Where torch.compile gives up there is nothing to compare.
        if ours["graphs"] > theirs["graphs"] > 0:
            said.append(f"{about}: {ours['graphs']} graphs to {theirs['graphs']}")
        # One graph is all that the program does, however many operations that is: where eager runs
        # a fused kernel, a tracer may take another path.
        elif (
            ours["first"] > 1 and ours["graphs"] == theirs["graphs"] and ours["ops"] < theirs["ops"]
        ):
            said.append(f"{about}: {ours['ops']} operations to {theirs['ops']}")
    return said


def markdown(results: list[dict[str, Any]], title: str) -> str:
    """Return a table in Markdown, a row for each model, and below it what is worse than torch's."""
    hows = next(iter(r["compiled"] for r in results if "compiled" in r), {})
    meanings = [how.partition("dynamic=")[2] for how, _ in _counted(hows) if "ferrodyn" in how]
    timed = [key for key in ("call", "first") if key in hows]
    columns = [f"`dynamic={d}`: graphs | operations" for d in meanings]
    columns += [f"{key}: ferrodyn | torch" for key in timed]
    if "second" in hows:
        columns += ["second process: equal | seconds", *(f"{what} taken" for what in _KEPT)]
    head = f"| model | {' | '.join(columns)} |"
    rows = [title, "", head, re.sub(r"[^|]+", " --: ", head).replace("--:", "---", 1)]
    for result in results:
        if "compiled" not in result:
            continue
        found = result["compiled"]
        cells = [result["name"]]
        for d in meanings:
            pair = [found[f"{who} dynamic={d}"] for who in ("ferrodyn", "torch")]
            wrong = ["error" if "error" in p else "*" if p["difference"] else "" for p in pair]
            for key in ("graphs", "ops"):
                cells.append(
                    " / ".join(f"{p.get(key, '-')}{w}" for p, w in zip(pair, wrong, strict=True))
                )
        for key in timed:
            ours, theirs = (found[key].get(who) for who in ("ours", "theirs"))
            cells += [f"{value * 1e3:,.3f} ms" if value else "-" for value in (ours, theirs)]
        if said := found.get("second"):
            cells += _second_cells(said)
        rows.append(f"| {' | '.join(cells)} |")
    for result in results:
        about = faults(result["compiled"]) if "compiled" in result else ["did not end"]
        rows += [f"\n{result['name']}: {'; '.join(about)}"] if about else []
    return "\n".join([*rows, "", *summary(results)]) + "\n"


def summary(results: list[dict[str, Any]]) -> list[str]:
    """Return the sums over all models."""
    ran = [r["compiled"] for r in results if "compiled" in r]
    good = sum(not faults(found) for found in ran)
    lines = [f"{len(results)} models, {good} of them in nothing worse than under torch.compile."]
    for how, _ in _counted(ran[0]) if ran else ():
        said = [found[how] for found in ran]
        graphs, ops = (sum(s.get(key, 0) for s in said) for key in ("graphs", "ops"))
        wrong = sum("error" in s or bool(s["difference"]) for s in said)
        lines.append(f"{how}: {graphs} graphs, {ops} operations, {wrong} models not as eager.")
    seconds = [f["second"] for f in ran if "differs" in f.get("second", {})]
    for what in _KEPT if seconds else ():
        kept, taken = (sum(said[what][at] for said in seconds) for at in (0, 1))
        lines.append(f"second process: {taken} of {kept} {what} taken.")
    for key in ("call", "first"):
        ratios = [f[key]["ours"] / f[key]["theirs"] for f in ran if "ours" in f.get(key, {})]
        if ratios:
            lines.append(
                f"{key}, ours over torch.compile's: median {statistics.median(ratios):.2f}, "
                f"{min(ratios):.2f} to {max(ratios):.2f}."
            )
    return lines
