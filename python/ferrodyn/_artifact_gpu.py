"""Kernels for a GPU that inductor has made with Triton, kept as their machine code.

Lives here: what is noted of a kernel once inductor has chosen among its configurations, what a GPU
is for the key, and the launch in a later process, through the launcher in torch's extension module.
Does not live here: the graphs that call kernels (`_artifact`, `_artifact_runtime`).

Invariant: what runs a kernel that was kept imports nothing of torch._inductor and no triton.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import os
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

_extension: Any = torch._C
#: Torch, of which its types do not tell all.
_torch: Any = torch

#: Kernels assume this of addresses that their graph checks.
_ALIGNMENT = 16


class Declined(Exception):
    """Why something is not kept."""


def _require(holds: object, otherwise: str) -> None:
    if not holds:
        raise Declined(otherwise)


def state() -> tuple[Any, ...]:
    """Return the GPUs and what code for them depends on, where CUDA is in use."""
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    return (
        torch.cuda.current_device(),
        [_gpu(at) for at in range(torch.cuda.device_count())],
        torch.version.cuda,
        torch.version.hip,
        _files_of_triton(),
        matmul.allow_fp16_reduced_precision_reduction,
        matmul.allow_bf16_reduced_precision_reduction,
        (cudnn.enabled, cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32),
    )


def _gpu(at: int) -> tuple[Any, ...]:
    known = torch.cuda.get_device_properties(at)
    names = (
        *("name", "major", "minor", "gcnArchName", "multi_processor_count", "total_memory"),
        *("warp_size", "regs_per_multiprocessor", "shared_memory_per_block_optin"),
        *("max_threads_per_multi_processor", "L2_cache_size"),
    )
    return tuple(getattr(known, name, None) for name in names)


@functools.cache
def _files_of_triton() -> list[tuple[str, int, int]]:
    """Return what tells one Triton from another, without importing it."""
    spec = importlib.util.find_spec("triton")
    if spec is None or spec.origin is None:
        return []
    library = os.path.join(os.path.dirname(spec.origin), "_C", "libtriton.so")
    found = []
    for path in (spec.origin, library):
        try:
            status = os.stat(path)
        except OSError:
            continue
        found.append((path, status.st_size, status.st_mtime_ns))
    return found


#: Kernels, by their ids, among whose configurations inductor chooses when they first run, and who
#: waits for that.
_undecided: dict[int, tuple[weakref.ref[Any], list[Callable[[], None]]]] = {}


def watch() -> None:
    """Put a function of ours around the one of inductor's that chooses. It stays."""
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner

    choose = CachingAutotuner.autotune_to_one_config

    def noted_choice(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = choose(self, *args, **kwargs)
        waits, told = _undecided.pop(id(self), (None, []))
        if waits is not None and waits() is self:
            for tell in told:
                tell()
        return result

    noted_choice.__name__ = choose.__name__
    setattr(CachingAutotuner, choose.__name__, noted_choice)


def when_decided(kernels: Sequence[Any], run: Callable[[], None]) -> None:
    """Run a function once inductor has chosen a configuration for each of these kernels."""
    undecided = [kernel for kernel in kernels if len(kernel.launchers) > 1]
    left = len(undecided)

    def one_less() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            run()

    if not undecided:
        run()
    for kernel in undecided:
        at = id(kernel)
        if at not in _undecided:
            forget = functools.partial(_undecided.pop, at)
            _undecided[at] = weakref.ref(kernel, forget), []
        _undecided[at][1].append(one_less)


def kept_kernel(kernel: Any) -> tuple[dict[str, Any], str, bytes]:
    """Return how a kernel of inductor's is launched, and the name and the bytes of its code.

    Raises `Declined` for what only torch's own loader runs.
    """
    _require(torch.version.hip is None, "a kernel for another kind of GPU than NVIDIA's")
    launcher_of_torch()
    meta = kernel.inductor_meta
    _require(not meta.get("coordinate_descent_tuning"), "a kernel that is tuned at each start")
    _require(not kernel.dump_launch_params and not kernel.dump_launch_tensors, "a watched kernel")
    _require(not kernel.triton_interpret, "a kernel that Triton interprets")
    _require(len(kernel.launchers) == 1, "a kernel that inductor has not chosen")
    (launcher,) = kernel.launchers
    results = [result for result in kernel.compile_results if result.config is launcher.config]
    _require(len(results) == 1, "a kernel that inductor has tuned further")
    (result,) = results
    binary = result.kernel
    kind = type(binary).__name__
    _require(kind == "StaticallyLaunchedCudaKernel", "a kernel that torch launches through Triton")
    _require(not getattr(binary, "global_scratch_size", None), "a kernel with memory of its own")
    _require(not getattr(binary, "_has_tensordesc", False), "a kernel with tensor descriptors")
    _require(not getattr(binary, "device_agnostic", False), "a kernel for several devices")
    device = result.compile_meta.get("device")
    _require(type(device) is int, "a kernel of no device")
    from torch._inductor.runtime.cache_dir_utils import triton_cache_dir

    path = Path(triton_cache_dir(device), launcher.cache_hash, f"{binary.name}.cubin")
    try:
        code = path.read_bytes()
    except OSError as error:
        raise Declined(f"the code of a kernel is not there: {error}") from error
    prefix, grid = _grid(meta, launcher.config)
    _, taken, absent = result._get_arg_lists(binary.arg_names, binary.declared_constexprs)
    constants = set(binary.full_constexprs)
    passed = [
        name
        for at, name in enumerate(binary.arg_names)
        if at not in constants and name not in absent
    ]
    _require(len(passed) == len(binary.arg_tys), "a kernel whose arguments have other types")
    scratch = bool(binary.has_global_scratch) + bool(binary.has_profile_scratch)
    told = {
        "name": binary.name,
        "device": device,
        "warps": binary.num_warps,
        "shared": binary.shared,
        # Triton hands kernels two addresses that ours don't use.
        "types": binary.arg_tys + "O" * scratch,
        "taken": list(taken),
        "prefix": prefix,
        "grid": grid,
        "passed": passed + ["None"] * scratch,
    }
    _only_sizes(told)
    return told, f"{launcher.cache_hash}.cubin", code


def _grid(meta: dict[str, Any], config: Any) -> tuple[list[str], list[str]]:
    """Return how many blocks run, as inductor writes it: lines, and three expressions."""
    from torch._inductor.runtime import triton_heuristics

    heuristics: Any = triton_heuristics
    grid = heuristics.GridExpr.from_meta(meta, config)
    return list(grid.prefix), [str(grid.x_grid), str(grid.y_grid), str(grid.z_grid)]


#: Of these, the numbers of blocks are made of what a kernel takes.
_ARITHMETIC = (
    *(ast.Module, ast.Assign, ast.Expr, ast.BinOp, ast.UnaryOp, ast.Call, ast.Name, ast.Constant),
    *(ast.IfExp, ast.Compare, ast.operator, ast.unaryop, ast.cmpop, ast.expr_context),
)


def _only_sizes(told: dict[str, Any]) -> None:
    """Raise `Declined` where a launch is more than arithmetic with what the kernel takes."""
    known = {*told["taken"], "max", "min", "None"}
    for text in (*told["prefix"], *told["grid"], *told["passed"]):
        made = []
        for node in ast.walk(ast.parse(text)):
            _require(isinstance(node, _ARITHMETIC), f"blocks by {text}")
            if isinstance(node, ast.Call):
                _require(isinstance(node.func, ast.Name), f"blocks by {text}")
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                made.append(node.id)
            elif isinstance(node, ast.Name):
                _require(node.id in known, f"blocks by {text}")
        known.update(made)


def launcher_of_torch() -> Any:
    """Return what launches kernels in torch's extension module.

    Raises `Declined` where this torch has none.
    """
    launcher = getattr(_extension, "_StaticCudaLauncher", None)
    has_both = hasattr(launcher, "_load_kernel") and hasattr(launcher, "_launch_kernel")
    _require(has_both, "this torch launches kernels through Triton only")
    return launcher


class Kernel:
    """A kernel that was kept: launched as inductor's code says it."""

    __slots__ = ("run",)

    def __init__(self, told: dict[str, Any], path: str) -> None:
        device = told["device"]
        torch.cuda.init()
        with torch.cuda._DeviceGuard(device):
            # It makes the context that the code is loaded into.
            torch.cuda.synchronize(device)
            load = launcher_of_torch()._load_kernel
            loaded = load(str(path), told["name"], told["shared"], device)
        # Newer torchs give the module first.
        function = loaded[-3]
        self.run = launch(told, function, launcher_of_torch()._launch_kernel)


def launch(
    told: dict[str, Any], function: int, launch_kernel: Callable[..., None]
) -> Callable[..., None]:
    """Return what launches a function that was loaded: takes what inductor's kernels take."""
    fixed = (repr(told["warps"]), repr(told["shared"]), repr(told["types"]))
    passed = "".join(f"{value}, " for value in told["passed"])
    blocks = ", ".join(f"({numbers})" for numbers in told["grid"])
    lines = [
        f"def run({', '.join((*told['taken'], 'stream'))}):",
        *(f"    {line}" for line in told["prefix"]),
        f"    __launch__(__function__, {blocks}, {', '.join(fixed)}, ({passed}), stream)",
    ]
    scope = {"__launch__": launch_kernel, "__function__": function}
    exec(compile("\n".join(lines), "<ferrodyn kernel>", "exec"), scope)
    return scope["run"]  # type: ignore[return-value]


def aligned(
    call: Callable[[list[Any]], Any], checked: Sequence[int], written: Sequence[int]
) -> Callable[[list[Any]], Any]:
    """Return what hands aligned copies to a graph for inputs that do not lie as its kernels need.

    `checked`: the places of those inputs; `written`: of inputs that the graph writes.
    """
    if not checked:
        return call

    def run(inputs: list[Any]) -> Any:
        theirs, ours = [], []
        for at in checked:
            given = inputs[at]
            if given.data_ptr() % _ALIGNMENT:
                inputs[at] = _copied(given)
                if at in written:
                    theirs.append(given)
                    ours.append(inputs[at])
        results = call(inputs)
        if theirs:
            _torch._foreach_copy_(theirs, ours)
        return results

    return run


def _copied(tensor: torch.Tensor) -> torch.Tensor:
    """Return a copy with the same strides, with all that lies between its elements."""
    extents = zip(tensor.shape, tensor.stride(), strict=True)
    size = sum((size - 1) * stride for size, stride in extents) + 1 if tensor.numel() else 0
    flat = torch.as_strided(tensor, (size,), (1,)).clone()
    return torch.as_strided(flat, tensor.shape, tensor.stride())
