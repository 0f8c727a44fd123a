"""Compares, feature by feature, how much ferrodyn and torch.compile capture below a compiler.

For each program and each of the two: graphs, operations in them, and whether values and
gradients are eager's. Each runs in a process of its own, so that no program changes another.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import fnmatch
import json
import os
import pathlib
import subprocess
import sys
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

TOLERANCE = {"rtol": 1e-4, "atol": 1e-5}


def counted(inner: Any, counts: collections.Counter[str]) -> Any:
    """A backend that counts graphs and their calls, and hands them to another."""
    import torch
    from torch._dynamo.backends.common import AotAutograd

    def backend(gm: torch.fx.GraphModule, inputs: list[Any]) -> Any:
        counts["graphs"] += 1
        for module in gm.modules():
            if isinstance(module, torch.fx.GraphModule):
                counts["operations"] += sum(n.op.startswith("call") for n in module.graph.nodes)
        return gm.forward if inner is None else inner(gm, inputs)

    class Compiler(AotAutograd):
        """Derives from torch's, so that it is known for a compiler from the first graph on."""

        def __call__(self, gm: torch.fx.GraphModule, inputs: list[Any], **kwargs: Any) -> Any:
            return backend(gm, inputs)

    return backend if inner is None else Compiler()


def outcome(fn: Any, calls: list[tuple[Any, ...]]) -> list[Any]:
    """What the calls give and do: results, arguments afterwards, gradients."""
    import torch
    from torch.utils._pytree import tree_leaves

    found: list[Any] = []
    for args in calls:
        torch.manual_seed(1)
        try:
            result = fn(*args)
            loss = sum(
                t.sum()
                for t in tree_leaves(result)
                if type(t) is torch.Tensor and t.requires_grad and t.is_floating_point()
            )
            if isinstance(loss, torch.Tensor):
                loss.backward()
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
        grads = [getattr(a, "grad", None) for a in tree_leaves(args)]
        found.append((result, args, grads))
    return found


def same(a: Any, b: Any) -> bool:
    """Whether two outcomes are equal."""
    import numpy as np
    import torch
    from torch.utils._pytree import tree_flatten

    (left, form), (right, other) = tree_flatten(a), tree_flatten(b)
    if form != other:
        return False
    for x, y in zip(left, right, strict=True):
        if type(x) is not type(y):
            return False
        if isinstance(x, torch.Tensor):
            if x.is_nested:
                x, y = x.values(), y.values()
            if type(x) is not torch.Tensor and hasattr(x, "a"):
                x, y = torch.stack([x.a, x.b]), torch.stack([y.a, y.b])
            x, y = (t.detach().as_subclass(torch.Tensor) for t in (x, y))
            if x.dtype != y.dtype or not torch.allclose(x, y, **TOLERANCE, equal_nan=True):
                return False
        elif isinstance(x, np.ndarray):
            if x.dtype != y.dtype or not np.allclose(x, y, **TOLERANCE):
                return False
        elif x != y and not (isinstance(x, float) and abs(x - y) < 1e-5):
            return False
    return True


def one(name: str, backend: str, compiler: str) -> dict[str, Any]:
    """One program under one of the two, in this process."""
    import torch

    from features.programs import PROGRAMS

    def made() -> Any:
        torch.manual_seed(0)
        return PROGRAMS[name]()

    eager = outcome(*made())
    counts: collections.Counter[str] = collections.Counter()
    # torch's registry knows its own backends by name.
    from torch._dynamo.backends.registry import lookup_backend

    inner = None if backend == "graph" else lookup_backend(backend)
    counting = counted(inner, counts)
    if compiler == "ferrodyn":
        import ferrodyn

        compile = ferrodyn.compile
    else:
        compile = torch.compile
    fn, calls = made()
    found = outcome(compile(fn, backend=counting), calls)
    return {
        "graphs": counts["graphs"],
        "operations": counts["operations"],
        "same": same(eager, found),
        "raised": next((str(f[0])[:200] for f in found if isinstance(f[0], str)), None),
    }


def apart(name: str, backend: str, compiler: str) -> dict[str, Any]:
    """As `one`, in a process of its own."""
    command = [sys.executable, __file__, "--one", name]
    command += ["--backend", backend, "--compiler", compiler]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["?"])[-1]
        return {"graphs": 0, "operations": 0, "same": False, "raised": last[:200]}
    return json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    """Runs the programs and prints the table; 1 if a program differs only under ferrodyn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="patterns of names; none: all")
    parser.add_argument("--backend", default="aot_eager", help="graph, aot_eager, inductor, ...")
    parser.add_argument("--compiler", choices=("ferrodyn", "torch"))
    parser.add_argument("--markdown", type=pathlib.Path, help="write the table to this file")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(one(asked.one, asked.backend, asked.compiler)))
        return 0
    from features.programs import PROGRAMS

    patterns = asked.names or ["*"]
    names = [n for n in PROGRAMS if any(fnmatch.fnmatch(n, p) for p in patterns)]
    compilers = [asked.compiler] if asked.compiler else ["ferrodyn", "torch"]
    rows = []
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {
            (name, c): pool.submit(apart, name, asked.backend, c)
            for name in names
            for c in compilers
        }
        for name in names:
            found = {c: jobs[name, c].result() for c in compilers}
            cells = [name.replace("_", " ")]
            for c in compilers:
                f = found[c]
                mark = "" if f["same"] else " differs"
                cells += [f"{f['graphs']}{mark}", str(f["operations"])]
            rows.append(cells)
            widths = [42] + [12] * (len(cells) - 1)
            line = [
                f"{c:{'>' if i else '<'}{w}}"
                for i, (c, w) in enumerate(zip(cells, widths, strict=True))
            ]
            print("  ".join(line), flush=True)
            for c in compilers:
                if found[c]["raised"]:
                    print(f"    {c}: {found[c]['raised']}")
            good = {c: found[c]["same"] for c in compilers}
            bad += not good.get("ferrodyn", True) and good.get("torch", True)
    if asked.markdown:
        counted = ("graphs", "operations")
        head = ["program"] + [f"{c}: {what}" for c in compilers for what in counted]
        lines = [head, ["---"] + ["--:"] * (len(head) - 1), *rows]
        text = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        asked.markdown.write_text(text + "\n")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
