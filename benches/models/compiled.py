"""Models below a compiler: how often each size is compiled for, and whether results stay eager's.

Both compilers hand their graphs to the same backend, which counts them. Results, gradients and
buffers may differ from eager's by what the order of a compiler's operations makes of them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from models.case import Case, called, left, length, module_of

#: Batches, and lengths of texts, that one model is called with in turn.
BATCHES = (2, 3, 4, 5, 7)
LENGTHS = (8, 9, 12, 17)
#: Relative and absolute tolerance for floats of single precision.
TOLERANCES = {"aot_eager": (1e-4, 1e-5), "inductor": (1e-3, 1e-4)}


def measure(case: Case, options: argparse.Namespace) -> dict[str, Any]:
    """Return for each meaning of `dynamic` and compiler what a model's calls come to."""
    found: dict[str, Any] = {}
    for dynamic in (None, True) if options.sizes else (None,):
        expected = list(_results(case, options, lambda fn: fn))
        for name, compile in _compilers().items():
            found[f"{name} dynamic={dynamic}"] = _compiled(
                case, options, expected, lambda fn, b, c=compile, d=dynamic: c(fn, b, d)
            )
    return found


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

    def backend(graph: Any, inputs: list[Any]) -> Any:
        graphs.append(sum(node.op.startswith("call") for node in graph.graph.nodes))
        return inner(graph, inputs)

    backend.compiler_name = options.backend  # type: ignore[attr-defined]
    start = time.perf_counter()
    try:
        found = _results(case, options, lambda fn: compile(fn, backend))
        off = [difference(e, f, options.backend) for e, f in zip(expected, found, strict=True)]
    except Exception as error:
        return {"error": f"{type(error).__name__}: {str(error)[:300]}", "graphs": len(graphs)}
    return {
        "graphs": len(graphs),
        "ops": sum(graphs),
        "difference": next(filter(None, off), ""),
        "seconds": time.perf_counter() - start,
    }


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
    for how, said in found.items():
        about = said.get("error") or said.get("difference") or ""
        count = f"{said['graphs']} graphs {said.get('ops', 0)} ops"
        seconds = f" {said['seconds']:.1f} s" if "seconds" in said else ""
        cells.append(f"{how}: {count}{seconds}{' ' + about if about else ''}")
    return f"{name:30} " + "  |  ".join(cells)


def is_good(found: dict[str, Any]) -> bool:
    """Whether Ferrodyn makes no more graphs, and no worse results, than torch.compile."""
    for how, ours in found.items():
        if not how.startswith("ferrodyn"):
            continue
        theirs = found[how.replace("ferrodyn", "torch")]
        broken = "error" in theirs or theirs["difference"]
        if ("error" in ours or ours["difference"]) and not broken:
            return False
        if ours["graphs"] > theirs["graphs"] and "error" not in theirs:
            return False
    return True
