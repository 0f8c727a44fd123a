"""Runs what a compiler made of a graph in an earlier process, without the compiler.

What AOTAutograd puts around a compiled graph is done here for graphs that need little of it: see
`_artifact`, which keeps no others. Follows the semantics of torch's `RuntimeWrapper` and of its
compiled `autograd.Function`.

Invariant: nothing of torch._dynamo, torch._inductor or sympy is imported.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib.util
import json
import os
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from . import _artifact_gpu as gpu
from . import _artifact_graph as operators
from . import _artifact_operators
from ._artifact_epilogue import Hidden, behind

#: Parts of torch's extension module, which its types do not tell of.
_extension: Any = torch._C
_guards, _functorch, _autograd = (
    _extension._dynamo.guards,
    _extension._functorch,
    _extension._autograd,
)

#: Modules that the code imports as they are.
MODULES = frozenset({"ctypes", "torch", "torch._C", "math", "random", "os", "tempfile", "cmath"})
#: Namespaces of operations that torch's libraries define: those of Python code need their module.
NAMESPACES = frozenset({"aten", "mkldnn", "inductor", "_quantized"})

Boxed = Callable[[list[Any]], Sequence[Any]]


@contextlib.contextmanager
def _no_profile(*args: Any) -> Iterator[None]:
    yield


def _assert_tensor_metadata(
    tensor: torch.Tensor | None,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    dtype: torch.dtype,
    operation: str | None = None,
) -> None:
    """Raise where a kernel of torch's gave something else than its rule for fake tensors said."""
    if tensor is None:
        return
    if tensor.dtype != dtype:
        raise RuntimeError(f"expected dtype {dtype} but got {tensor.dtype} of {operation}")
    _guards.assert_size_stride(tensor, size, stride, operation)


def _stand_ins(kernels: dict[str, Any]) -> dict[str, Any]:
    """Return what stands for names of torch's compiler in code that has these kernels."""
    compiler = types.SimpleNamespace(
        cpp_pybinding=kernels.__getitem__, triton=kernels.__getitem__, wait=lambda scope: None
    )
    return {
        "torch._inductor.hooks.run_intermediate_hooks": lambda name, value: None,
        "torch._inductor.utils.maybe_profile": _no_profile,
        "torch._inductor.codegen.memory_planning._align": lambda size: (size + 63) // 64 * 64,
        "torch._inductor.async_compile.AsyncCompile": lambda: compiler,
        "torch._inductor.runtime.runtime_utils.assert_tensor_metadata": _assert_tensor_metadata,
        "torch._inductor.select_algorithm.extern_kernels": types.SimpleNamespace(
            mm=torch.mm,
            addmm=torch.addmm,
            bmm=torch.bmm,
            baddbmm=torch.baddbmm,
            convolution=torch.convolution,
        ),
    }


#: The names that the code of a graph may have of torch's compiler.
STAND_INS = _stand_ins({})


def _importer(stand_ins: dict[str, Any]) -> Callable[..., Any]:
    """Return what imports for the code of a graph."""

    def load(
        name: str, globals: Any = None, locals: Any = None, names: Any = (), level: int = 0
    ) -> Any:
        paths = {part: f"{name}.{part}" for part in names or ()}
        if any(path in stand_ins for path in paths.values()):
            return types.SimpleNamespace(**{part: stand_ins[paths[part]] for part in paths})
        return builtins.__import__(name, globals, locals, names, level)

    return load


def _kernel(path: str) -> Callable[..., None]:
    """Return the function of a library that inductor has built."""
    # By this address a kernel finds the data of a tensor.
    address = _guards._torchinductor_pyobject_tensor_data_ptr
    os.environ["_TORCHINDUCTOR_PYOBJECT_TENSOR_DATA_PTR"] = str(address)
    spec = importlib.util.spec_from_file_location("kernel", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


def _loaded(half: dict[str, Any], library: Callable[[str], str]) -> Boxed:
    if "operators" in half:
        return operators.loaded(half)
    _artifact_operators.check(half["relied on"])
    launches = half["launches"]
    kernels: dict[str, Any] = {}
    for name, file in half["kernels"].items():
        path = library(file)
        told = launches.get(name)
        kernels[name] = _kernel(path) if told is None else gpu.Kernel(told, path)
    scope: dict[str, Any] = {
        "__name__": "ferrodyn_artifact",
        "__builtins__": {**vars(builtins), "__import__": _importer(_stand_ins(kernels))},
    }
    exec(compile(half["code"], "<ferrodyn artifact>", "exec"), scope)
    return gpu.aligned(scope["call"], half["checked"], half["written"])


def load(manifest: str, library: Callable[[str], str]) -> Callable[..., Sequence[Any]]:
    """Return what a graph was compiled to: takes its inputs, gives its outputs.

    `library` gives the path of a library that the manifest names.
    """
    kept = json.loads(manifest)
    facts = kept["facts"]
    forward = _loaded(kept["forward"], library)
    if "backward" not in kept:
        return _marking(_inference(forward, facts), facts["dynamic"])
    backward = _loaded(kept["backward"], library)
    return _marking(_training(forward, backward, facts), facts["dynamic"])


def _without_autocast(call: Boxed) -> Boxed:
    def run(inputs: list[Any]) -> Sequence[Any]:
        with torch._C._DisableAutocast():
            return call(inputs)

    return run


def _mark(tensor: Any, dims: Sequence[int]) -> None:
    """Note which sizes of a tensor change, for the graph that gets it."""
    known = getattr(tensor, "_dynamo_propagated_dynamic_indices", ())
    tensor._dynamo_propagated_dynamic_indices = {*known, *dims}


def _marking(run: Callable[..., Any], dynamic: list[tuple[int, list[int]]]) -> Callable[..., Any]:
    """Return what notes which sizes of the results change."""
    if not dynamic:
        return run

    def marked(*inputs: Any) -> Any:
        results = run(*inputs)
        for at, dims in dynamic:
            _mark(results[at], dims)
        return results

    return marked


def _inference(call: Boxed, facts: dict[str, Any]) -> Callable[..., Sequence[Any]]:
    written = facts["written"]
    if facts["autocast"]:
        call = _without_autocast(call)

    def run(*inputs: Any) -> Sequence[Any]:
        if written:
            torch.autograd.graph.increment_version([inputs[at] for at in written])
        if not torch.is_grad_enabled():
            return call(list(inputs))
        torch._C._set_grad_enabled(False)
        try:
            return call(list(inputs))
        finally:
            torch._C._set_grad_enabled(True)

    return _finishing(run, facts)


def _finishing(run: Callable[..., Any], facts: dict[str, Any]) -> Callable[..., Any]:
    """Return what also does what is left to do behind the graph."""
    finish = behind(facts)
    if finish is None:
        return run
    return lambda *inputs: finish(inputs, run(*inputs))


def _laid_out(gradient: torch.Tensor, layout: dict[str, Any]) -> torch.Tensor:
    """Return a gradient as the backward graph expects it in memory."""
    if hasattr(type(gradient), "__tensor_flatten__"):
        raise RuntimeError(
            f"the backward graph was compiled for plain tensors, and a gradient is a "
            f"{type(gradient).__name__}"
        )
    if "memory_format" in layout:
        return gradient.contiguous(memory_format=getattr(torch, layout["memory_format"]))
    size, stride = tuple(layout["size"]), tuple(layout["stride"])
    if gradient.shape == size and gradient.stride() == stride:
        return gradient
    copy = torch.empty_strided(size, stride, dtype=gradient.dtype, device=gradient.device)
    return copy.copy_(gradient)


def _check_backward(facts: dict[str, Any]) -> None:
    if _functorch.peek_interpreter_stack() is not None:
        raise RuntimeError(
            "a compiled backward function can't be called within vmap, grad or vjp: compile what "
            "calls it as well"
        )
    if facts["deterministic"] is False and torch.are_deterministic_algorithms_enabled():
        raise RuntimeError(
            "This compiled backward function is being run with "
            "torch.use_deterministic_algorithms(True), but it was compiled without"
        )
    if facts["donates"] and _autograd._get_current_graph_task_keep_graph():
        raise RuntimeError(
            "This backward function was compiled with non-empty donated buffers which requires "
            "create_graph=False and retain_graph=False. Set "
            "torch._functorch.config.donated_buffer=False to disable donated buffer."
        )


def _training(forward: Boxed, backward: Boxed, facts: dict[str, Any]) -> Callable[..., Any]:
    # First the inputs that are written behind the graph, last what outputs are views of.
    first, unchecked = len(facts["behind"]), facts["unchecked"]
    returned = first + facts["outputs"] + facts["bases"]
    hidden = [at for at, (_, how) in enumerate(facts["behind"]) if not how["data"]]
    hidden += [first + alias["at"] for alias in facts["aliases"]]
    saved_inputs = {at for at, is_input in enumerate(facts["saved_inputs"]) if is_input}
    dynamic_saved = facts["dynamic_saved"]
    if facts["autocast"]:
        forward, backward = _without_autocast(forward), _without_autocast(backward)

    class CompiledFunction(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            made = forward(list(inputs))
            ints = len(made) - facts["saved_ints"]
            ctx.ints = made[ints:]
            saved = [
                value if at in saved_inputs or not value._is_view() else value.detach()
                for at, value in enumerate(made[returned:ints])
            ]
            for at, dims in dynamic_saved:
                _mark(saved[at], dims)
            checked = len(saved) - unchecked
            ctx.save_for_backward(*saved[:checked])
            ctx.unchecked = saved[checked:]
            results = list(made[:returned])
            for at in facts["unsafe_views"]:
                results[at] = torch.ops.aten._unsafe_view(results[at], results[at].shape)
            for at in hidden:
                results[at] = Hidden(results[at])
            plain = [results[at] for at in facts["non_differentiable"]]
            ctx.mark_non_differentiable(*(x for x in plain if isinstance(x, torch.Tensor)))
            ctx._materialize_non_diff_grads = False
            return tuple(results)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            _check_backward(facts)
            tangents = [
                _laid_out(gradients[at], layout)
                for at, layout in zip(facts["tangents"], facts["formats"], strict=True)
            ]
            values = [*ctx.ints, *ctx.saved_tensors, *ctx.unchecked, *tangents]
            if torch.is_grad_enabled() and (
                facts["differentiable_inputs"]
                or any(getattr(value, "requires_grad", False) for value in values)
            ):
                return _OnceDifferentiable.apply(
                    backward, torch.empty(0, requires_grad=True), *values
                )
            del tangents
            ctx.maybe_clear_saved_tensors()
            return tuple(backward(values))

    def run(*inputs: Any) -> Any:
        given = list(inputs)
        for at in facts["detached"]:
            if isinstance(given[at], torch.Tensor):
                given[at] = given[at].detach()
        replays = torch._C._is_view_replay_enabled()
        torch._C._set_view_replay_enabled(True)
        try:
            with torch.enable_grad():
                if facts["written"]:
                    torch.autograd.graph.increment_version([inputs[at] for at in facts["written"]])
                return CompiledFunction.apply(*given)
        finally:
            torch._C._set_view_replay_enabled(replays)

    return _finishing(run, facts)


class _OnceDifferentiable(torch.autograd.Function):
    """A compiled backward graph whose results are asked for their gradients, which it has not."""

    @staticmethod
    def forward(ctx: Any, backward: Boxed, connects: torch.Tensor, *values: Any) -> Any:
        return tuple(backward(list(values)))

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        # Programs match torch's text.
        raise RuntimeError(
            "torch.compile with aot_autograd does not currently support double backward"
        )
