"""Runs models plainly and captured by Ferrodyn, and says how well they are captured.

    python benches/models/run.py                      every model
    python benches/models/run.py 'hf_*' nn_mlp        those whose names match
    python benches/models/run.py --reference          torch.compile beside it
    python benches/models/run.py --train --fullgraph  in training mode, one graph or an error
    python benches/models/run.py --table              as `cargo xtask models`: torch.compile
                                                      beside it, with times, as a table

For each model: whether results, gradients and changed buffers are those of eager, how many
graphs and operations, how many breaks with what reasons, how often torch's fake tensors were
asked for metadata, and how long tracing took. Models run in processes of their own, so that
a crash or an endless loop of one costs only that one.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import math
import os
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

#: One line of results begins with this.
_MARK = "@@result "


def _describe(value: Any, seen: dict[int, Any]) -> Any:
    """Return plain data and tensors with the same structure, for `_difference`."""
    import torch

    if isinstance(value, torch.Tensor) or value is None:
        return value
    if isinstance(value, (bool, int, float, complex, str, bytes, type, torch.dtype)):
        return value
    if id(value) in seen:
        return ("seen", seen[id(value)])
    seen[id(value)] = len(seen)
    kind = type(value).__qualname__
    if isinstance(value, dict):
        items = [(_describe(k, seen), _describe(v, seen)) for k, v in value.items()]
        return (kind, items)
    if isinstance(value, (list, tuple)):
        return (kind, [_describe(item, seen) for item in value])
    attributes = {
        name: _describe(item, seen)
        for name, item in sorted(getattr(value, "__dict__", {}).items())
        if not callable(item)
    }
    return (kind, attributes)


def _difference(one: Any, other: Any, where: str = "result") -> str:
    """Return what differs first, or an empty text; tensors have to be equal in every bit."""
    import torch

    if type(one) is not type(other):
        return f"{where}: {type(one).__name__} and {type(other).__name__}"
    if isinstance(one, torch.Tensor):
        about = [
            (t.shape, t.dtype, t.device, t.layout, t.requires_grad, t.stride())
            for t in (one, other)
        ]
        if about[0] != about[1]:
            return f"{where}: {about[0]} and {about[1]}"
        if torch.equal(one, other):
            return ""
        both = one.isnan() & other.isnan() if one.is_floating_point() else None
        if both is not None and bool((both | (one == other)).all()):
            return ""
        if one.is_floating_point():
            error = (one - other).abs().max().item()
            return f"{where}: off by {error:.2e}"
        return f"{where}: values differ"
    if isinstance(one, dict):
        if list(one) != list(other):
            return f"{where}: {sorted(set(one) ^ set(other))} in one only"
        return next(filter(None, (_difference(one[k], other[k], f"{where}.{k}") for k in one)), "")
    if isinstance(one, (list, tuple)):
        if len(one) != len(other):
            return f"{where}: {len(one)} and {len(other)} items"
        pairs = enumerate(zip(one, other, strict=True))
        return next(filter(None, (_difference(a, b, f"{where}[{i}]") for i, (a, b) in pairs)), "")
    if isinstance(one, float) and math.isnan(one) and math.isnan(other):
        return ""
    return "" if one == other else f"{where}: {one!r} and {other!r}"


def _calls(
    case: Any, options: argparse.Namespace, compile: Any, again: Any = lambda: None
) -> list[Any]:
    """Return everything that can be seen of two calls with one batch size and one with another.

    `again` is called in between.
    """
    import torch

    from models.case import called, left, module_of

    fn = case.build()
    module = module_of(fn)
    if options.train and isinstance(fn, torch.nn.Module):
        fn.train()
    grad = case.grad or options.train
    target = compile(fn)
    seen = []
    for batch in (2, 2, 3) if case.batched and not options.once else (2, 2):
        if batch == 3:
            again()
        seen.append(_describe(called(target, case.inputs(batch), grad), {}))
        seen.append(torch.get_rng_state())
        if torch.cuda.is_initialized():
            seen.append(torch.cuda.get_rng_state_all())
    return seen + left(module)


def _break_text(record: Any) -> str:
    stack = record.get("user_stack") or [""]
    where = stack[-1].strip().splitlines()[0] if stack[-1] else ""
    parts = where.split(",")
    if len(parts) >= 3:
        name = parts[0].replace("File", "").strip(' "').rsplit("/", 1)[-1]
        where = f"{name}:{parts[1].replace('line', '').strip()}"
    unsaid = ("Internal error", "Frame runs in eager mode")
    explanation = record["explanation"] if record["reason"] in unsaid else ""
    context = record.get("context") or ""
    skipped = context if record["reason"].startswith(("Attempted to call", "Observed")) else ""
    return " ".join(filter(None, (record["reason"], skipped, explanation, f"[{where}]")))


def _ferrodyn(
    case: Any, options: argparse.Namespace, expected: list[Any]
) -> tuple[dict[str, Any], list[Any]]:
    """Return what Ferrodyn makes of a model, and its results."""
    import ferrodyn
    from ferrodyn import _core

    graphs: list[Any] = []

    def backend(graph: Any, inputs: list[Any]) -> Any:
        graphs.append(graph)
        return graph.forward

    def compile(fn: Any) -> Any:
        return ferrodyn.compile(fn, backend=backend, fullgraph=options.fullgraph)

    record: dict[str, Any] = {}

    def count() -> None:
        if not record:
            record.update(_core.explain_end(), graph_count=len(graphs))

    ferrodyn.reset()
    _core.explain_begin()
    try:
        found = _calls(case, options, compile, count)
    finally:
        count()
        counts = record["instruction_counts"]
        said = {
            **_counted(graphs, record["graph_count"]),
            "breaks": [_break_text(r) for r in record["break_reasons"]],
            "fake": counts.get("fake_tensor_fallbacks", 0),
            "instructions": counts.get("instructions", 0),
            "guards": sum(text.count("\n") + 1 for text in record["out_guards"]),
            "trace": record["compile_times"].get("tracing", 0.0),
        }
        said["fake_ops"] = record["fake_tensor_ops"]
        _LAST.clear()
        _LAST.update(said)
    said["difference"] = _difference(expected, found)
    return said, found


#: What is known of the model at hand, should it fail.
_LAST: dict[str, Any] = {}


def _reference(
    case: Any, options: argparse.Namespace, expected: list[Any]
) -> tuple[dict[str, Any], list[Any]]:
    """Return what torch.compile makes of a model, and its results."""
    import torch

    graphs: list[Any] = []

    def backend(graph: Any, inputs: list[Any]) -> Any:
        graphs.append(graph)
        return graph.forward

    def compile(fn: Any) -> Any:
        return torch.compile(fn, backend=backend, fullgraph=options.fullgraph, dynamic=False)

    count = []
    torch._dynamo.reset()
    start = time.perf_counter()
    found = _calls(case, options, compile, lambda: count.append(len(graphs)))
    said = {
        **_counted(graphs, *count),
        "calls": time.perf_counter() - start,
        "difference": _difference(expected, found),
    }
    return said, found


def _counted(graphs: list[Any], count: int | None = None) -> dict[str, int]:
    """Return how many graphs and operations the first `count` graphs are; `all` of them."""
    counted = graphs[:count]
    ops = sum(n.op.startswith("call") for g in counted for n in g.graph.nodes)
    return {"graphs": len(counted), "all": len(graphs), "ops": ops}


def _one(name: str, options: argparse.Namespace) -> dict[str, Any]:
    import torch

    import models

    case = models.CASES[name]
    result: dict[str, Any] = {"name": name}
    try:
        expected = _calls(case, options, lambda fn: fn)
    except Exception as error:
        return {**result, "skipped": f"eager: {type(error).__name__}: {error}"}
    again = _difference(expected, _calls(case, options, lambda fn: fn))
    if again:
        result["unstable"] = again
    results = {}
    for key, measure in (("ferrodyn", _ferrodyn), ("torch", _reference)):
        if key == "torch" and not options.reference:
            continue
        try:
            result[key], results[key] = measure(case, options, expected)
        except Exception as error:
            lines = traceback.format_exception(error)
            result[key] = {
                **(_LAST if key == "ferrodyn" else {}),
                "error": f"{type(error).__name__}: {str(error)[:300]}",
                "traceback": "".join(lines[-6:])[-2000:],
            }
    # A program that asks `torch.compiler.is_compiling()` may compute something else where it is.
    if len(results) == 2 and result["ferrodyn"]["difference"]:
        result["as_torch"] = not _difference(results["torch"], results["ferrodyn"])
    torch.set_grad_enabled(True)
    if options.table:
        _measure(case, options, result)
    return result


def _measure(case: Any, options: argparse.Namespace, result: dict[str, Any]) -> None:
    """Add the times of a model to its result."""
    import times

    # Whether torch.compile has seen the model, so that its next compilation is a warm one.
    options.known = "error" not in result.get("torch", {"error": ""})
    measures = {"capture": times.captures, "call": times.calls}
    result.update(times.measured(measures, case, options))


def _worker(names: list[str], options: argparse.Namespace) -> None:
    import torch

    torch.set_num_threads(1)
    if options.backend:
        import compiled
        import torch._dynamo

        import models

        for name in names:
            print(f"{_MARK}{json.dumps({'begin': name})}", flush=True)
            case = models.CASES[name]
            found = {} if options.second else compiled.measure(case, options)
            if "skipped" in found:
                print(f"{_MARK}{json.dumps({'name': name, **found})}", flush=True)
                continue
            if options.times:
                found.update(compiled.timed(case, options))
            if options.second:
                found.update(compiled.again(case, options))
            print(f"{_MARK}{json.dumps({'name': name, 'compiled': found})}", flush=True)
        return
    if options.device:
        from models import case

        case.DEVICE = torch.device(options.device)
        torch.backends.cudnn.deterministic = True
    for name in names:
        print(f"{_MARK}{json.dumps({'begin': name})}", flush=True)
        print(f"{_MARK}{json.dumps(_one(name, options))}", flush=True)


#: Flags that each process gets.
_HANDED_ON = ("train", "fullgraph", "reference", "once", "table", "sizes", "times", "second")


def _run_chunk(names: list[str], options: argparse.Namespace) -> list[dict[str, Any]]:
    """Run models in one process, and in new ones after a crash; `timeout` seconds for each."""
    results = []
    left = list(names)
    while left:
        command = [sys.executable, __file__, "--worker", *left]
        command += [f"--{flag}" for flag in _HANDED_ON if getattr(options, flag)]
        command += [f"--device={options.device}"] if options.device else []
        command += [f"--backend={options.backend}"] if options.backend else []
        command += [f"--warm={options.warm}"] if options.warm else []
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": "0"},
        )
        late = threading.Event()

        def stop(process: Any = process, late: threading.Event = late) -> None:
            late.set()
            process.kill()

        errors: list[str] = []
        reader = threading.Thread(
            target=lambda stream=process.stderr, kept=errors: kept.extend(stream), daemon=True
        )
        reader.start()
        timer = threading.Timer(options.timeout, stop)
        timer.start()
        current = left[0]
        for line in process.stdout or ():
            if not line.startswith(_MARK):
                continue
            said = json.loads(line[len(_MARK) :])
            timer.cancel()
            timer = threading.Timer(options.timeout, stop)
            timer.start()
            if "begin" in said:
                current = said["begin"]
            else:
                results.append(said)
                left.remove(said["name"])
                _show(said, options)
        timer.cancel()
        process.wait()
        reader.join(5)
        if left:
            why = (
                f"no end after {options.timeout} s"
                if late.is_set()
                else (f"process ended with {process.returncode}: {''.join(errors[-4:])[-400:]}")
            )
            said = {"name": current, "ferrodyn": {"error": why}}
            results.append(said)
            left.remove(current)
            _show(said, options)
    return results


def _show(said: dict[str, Any], options: argparse.Namespace) -> None:
    name = said["name"]
    if "compiled" in said:
        import compiled

        print(compiled.line(name, said["compiled"]), flush=True)
        return
    if "skipped" in said:
        print(f"{name:34} skipped: {said['skipped'][:150]}", flush=True)
        return
    own = said["ferrodyn"]
    if "error" in own:
        verdict = f"ERROR {own['error']}"
    elif own["difference"]:
        verdict = f"DIFFERS {own['difference']}"
        if said.get("as_torch"):
            verdict = f"as torch.compile; {verdict}"
        if "unstable" in said:
            verdict = f"unstable in eager ({said['unstable']}); {verdict}"
    else:
        verdict = "equal"
    numbers = ""
    if "graphs" in own:
        numbers = (
            f"graphs {own['graphs']:3} breaks {len(own['breaks']):3} ops {own['ops']:5} "
            f"fake {own['fake']:4} trace {own['trace'] * 1e3:8.1f} ms  "
        )
    if other := said.get("torch"):
        numbers += f"torch: {other.get('graphs', 'error')}  "
    if ratio := said.get("capture", {}).get("ratio"):
        numbers += f"torch's tracing / ours: {ratio:.1f}  "
    print(f"{name:34} {numbers}{verdict}", flush=True)
    if options.reasons:
        for reason, count in Counter(own.get("breaks", ())).most_common():
            print(f"    {count} x {reason[:240]}", flush=True)
        if own.get("fake_ops"):
            print(f"    fake: {own['fake_ops']}", flush=True)
        if "traceback" in own and options.verbose:
            print(own["traceback"], flush=True)


def _summary(results: list[dict[str, Any]]) -> None:
    ran = [r["ferrodyn"] for r in results if "ferrodyn" in r]
    equal = [r for r in ran if r.get("difference") == "" and "error" not in r]
    whole = [r for r in equal if not r["breaks"]]
    breaks = Counter(reason for r in ran for reason in r.get("breaks", ()))
    print(
        f"\n{len(ran)} models: {len(equal)} equal to eager, {len(whole)} of them without a break, "
        f"{sum(r.get('fake', 0) for r in ran)} fake tensor fallbacks, "
        f"{sum(r.get('trace', 0) for r in ran):.2f} s tracing"
    )
    for reason, count in breaks.most_common(40):
        print(f"  {count:4} x {reason[:200]}")


def main() -> int:
    """Run what the command line asks for; 1 if a model differs or fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="patterns of names; none: all models")
    parser.add_argument("--reference", action="store_true", help="run torch.compile too")
    parser.add_argument("--train", action="store_true", help="training mode, with backward")
    parser.add_argument("--fullgraph", action="store_true", help="an error at each break")
    parser.add_argument("--once", action="store_true", help="one batch size only")
    parser.add_argument("--reasons", action="store_true", help="show the breaks of each model")
    parser.add_argument("--table", action="store_true", help="with times and torch, as a table")
    parser.add_argument("--verbose", action="store_true", help="with --reasons: tracebacks")
    parser.add_argument("--device", help="where models and inputs are: cuda")
    parser.add_argument("--backend", help="below this compiler: aot_eager, inductor")
    parser.add_argument("--sizes", action="store_true", help="with --backend: several sizes")
    parser.add_argument("--times", action="store_true", help="with --backend: calls, first calls")
    parser.add_argument("--second", action="store_true", help="with --backend: two processes only")
    parser.add_argument("--warm", type=int, default=0, help="with --second: beside torch.compile")
    parser.add_argument("--compiler", default="ferrodyn", help=argparse.SUPPRESS)
    parser.add_argument("--call-once", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--first", metavar="COMPILER", help=argparse.SUPPRESS)
    parser.add_argument("--chunk", type=int, default=8, help="models in one process")
    parser.add_argument("--timeout", type=float, help="seconds for one model")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--markdown", type=Path, help="write the table to this file too")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.timeout = options.timeout or (600 if options.backend or options.table else 120)
    options.reference |= options.table
    sys.path.insert(0, str(Path(__file__).parent.parent))
    if options.call_once:
        import second

        second.call(options)
        return 0
    if options.first:
        import first

        first.call(options)
        return 0
    if options.worker:
        _worker(options.names, options)
        return 0
    import models

    patterns = options.names or ["*"]
    names = [n for n in models.CASES if any(fnmatch.fnmatch(n, p) for p in patterns)]
    results: list[dict[str, Any]] = []
    for start in range(0, len(names), options.chunk):
        results += _run_chunk(names[start : start + options.chunk], options)
        if options.json:
            options.json.write_text(json.dumps(results, indent=1))
    if options.backend:
        import compiled
        import torch

        print("", *compiled.summary(results), sep="\n")
        if options.markdown:
            mode = "training" if options.train else "inference"
            python = sys.version.split()[0]
            title = f"`{options.backend}`, {mode}, Python {python}, torch {torch.__version__}."
            options.markdown.write_text(compiled.markdown(results, title))
        good = not any(compiled.faults(r.get("compiled", {})) for r in results)
        good &= all("compiled" in r or "skipped" in r for r in results)
        return 0 if good else 1
    if options.table:
        import report
        import torch

        python = sys.version.split()[0]
        report.table(results, f"Python {python}, torch {torch.__version__}, one thread")
        report.summary(results)
        if options.markdown:
            options.markdown.write_text(report.markdown(results))
    else:
        _summary(results)
    good = all("skipped" in r or r["ferrodyn"].get("difference") == "" for r in results)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
