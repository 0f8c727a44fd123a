"""A model in two processes that share the folders in which compilers keep things.

The second one finds what the first has kept: captures, and what a compiler made of their graphs.
Whatever a call gives and leaves, gradients included, has to be the same in every bit.

With `--warm N`, N more processes of each compiler, in turns, all of which find what the first one
of the same compiler has left: wall seconds from `compile` to the first result, gradients included.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import process


def measure(case: Any, options: argparse.Namespace) -> dict[str, Any]:
    """Return seconds of both first calls, `differs`, and how much was kept, and taken again."""
    from ferrodyn import _core

    with tempfile.TemporaryDirectory(prefix="models-") as caches:
        arguments = ["--call-once", case.name]
        said = [process.run(arguments, options, caches)]
        between = time.time()
        said.append(process.run(arguments, options, caches))
        folder = f"{caches}/ferrodyn"
        used = {
            "captures": [used for _, _, used in _core.kept_captures(folder)],
            "artifacts": [used for _, _, used, _ in _core.artifacts(folder)],
        }
        warm = _warm(case, options, caches) if options.warm else None
    digests = [one["digests"] for one in said]
    pairs = zip(*digests, strict=False)
    differs = next((a[0] for a, b in pairs if a != b), "")
    if not differs and len(digests[0]) != len(digests[1]):
        differs = "the number of results"
    found: dict[str, Any] = {"differs": differs, "seconds": [one["seconds"] for one in said]}
    if warm:
        found["warm"] = warm
    for what, times in used.items():
        found[what] = [len(times), sum(time > between for time in times)]
    return found


def _warm(case: Any, options: argparse.Namespace, caches: str) -> dict[str, Any]:
    """Return the median seconds of warm processes, and which modules of compilers ours import.

    `caches`: what ours have kept before.
    """
    said: dict[str, list[dict[str, Any]]] = {"ferrodyn": [], "torch": []}
    with tempfile.TemporaryDirectory(prefix="models-") as theirs:
        folders = {"ferrodyn": caches, "torch": theirs}

        def run(compiler: str) -> dict[str, Any]:
            arguments = ["--call-once", f"--compiler={compiler}", case.name]
            return process.run(arguments, options, folders[compiler])

        run("torch")
        for _ in range(options.warm):
            for compiler, results in said.items():
                results.append(run(compiler))
    seconds = {of: statistics.median(one["seconds"] for one in all_) for of, all_ in said.items()}
    imports = {name for one in said["ferrodyn"] for name in one["imports"]}
    return {**seconds, "imports": sorted(imports)}


#: What a process needs not import where results are kept.
_COMPILERS = ("torch._dynamo", "torch._inductor", "sympy")


def call(options: argparse.Namespace) -> None:
    """Make two calls here, and print a digest of each thing that they give and leave."""
    import torch

    import models

    torch.set_num_threads(1)
    (name,) = options.names
    case = models.CASES[name]
    fn = case.build()
    module = models.case.module_of(fn)
    if options.train and isinstance(fn, torch.nn.Module):
        fn.train()
    inputs = [case.inputs(2) for _ in range(2)]
    before = set(sys.modules)
    start = time.perf_counter()
    compiler: Any = importlib.import_module(options.compiler)
    target = compiler.compile(fn, backend=options.backend)
    grad = case.grad or options.train
    results = [models.case.called(target, inputs[0], grad)]
    seconds = time.perf_counter() - start
    results.append(models.case.called(target, inputs[1], grad))
    imports = [name for name in _COMPILERS if name in sys.modules and name not in before]
    digests = list(_digests([*results, *models.case.left(module)]))
    process.say({"seconds": seconds, "digests": digests, "imports": imports})


def _digests(results: Any) -> Iterator[tuple[str, str]]:
    """Yield a name and a digest for each thing in results."""
    import torch

    leaves, _ = torch.utils._pytree.tree_flatten_with_path(results)
    for path, leaf in leaves:
        if isinstance(leaf, torch.Tensor):
            about = f"{leaf.dtype} {tuple(leaf.shape)} {leaf.stride()} {leaf.requires_grad}"
            dense = leaf.detach().resolve_conj().resolve_neg().to_dense().contiguous()
            content = dense.view(-1).view(torch.uint8).numpy().tobytes() if dense.numel() else b""
        else:
            about, content = type(leaf).__name__, b""
            if leaf is None or isinstance(leaf, (bool, int, float, complex, str)):
                content = repr(leaf).encode()
        digest = hashlib.sha256(about.encode() + content).hexdigest()
        yield torch.utils._pytree.keystr(path), digest
