"""What a backend is handed, as plain data, field by field."""

# ruff: noqa: E501
from __future__ import annotations

import re
from collections.abc import Callable
from itertools import chain
from typing import Any

import torch
from torch._dynamo.backends.common import AotAutograd
from torch._guards import CompileContext, TracingContext


class Handed(AotAutograd):
    """Writes down what it is handed. torch's class: it compiles from the first graph on."""

    def __init__(self) -> None:
        super().__init__()
        self.graphs: list[dict[str, Any]] = []

    def __call__(self, gm: torch.fx.GraphModule, inputs: list[Any], **kwargs: Any) -> Any:
        self.graphs.append(fields(gm, inputs))
        return torch._dynamo.lookup_backend("aot_eager")(gm, inputs)


class _Symbols:
    """Numbers symbols in the order in which they come."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def __call__(self, value: Any) -> str:
        name = lambda m: self._known.setdefault(m[0], f"n{len(self._known)}")
        return re.sub(r"\b[suz]+f?\d+\b", name, str(value))


def _tensor(value: Any, symbols: _Symbols) -> Any:
    if isinstance(value, torch.Tensor):
        kind = type(value).__name__
        about = (value.dtype, value.device, value.requires_grad, value.is_leaf)
        sizes = [symbols(n) for n in (*value.size(), *value.stride(), value.storage_offset())]
        return kind, *map(str, about), sizes
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [_tensor(v, symbols) for v in value]
    return type(value).__name__, symbols(value)


def _target(node: torch.fx.Node) -> str:
    target = node.target
    if isinstance(target, str):
        return target
    module = getattr(target, "__module__", None) or ""
    return f"{module}.{getattr(target, '__qualname__', target)}"


def _static(node: torch.fx.Node) -> Any:
    return node.meta.get("tensor_dict", {}).get("_dynamo_static_input_type")


def _is_graph_argument(node: torch.fx.Node) -> bool:
    argument = node.meta.get("grapharg")
    return (
        argument is not None
        and argument.example is not None
        and argument.source is node._dynamo_source
        and (argument.fake_tensor is node.meta["example_value"] or not argument.is_tensor)
    )


def _line(node: torch.fx.Node) -> str:
    """The program's line: without the marks below it."""
    lines = [text.strip() for text in node.meta["stack_trace"].splitlines()]
    return [text for text in lines if text.strip("^~ ")][-1]


def _fake_mode(values: list[Any]) -> Any:
    return next((v.fake_mode for v in values if hasattr(v, "fake_mode")), None)


def fields(gm: torch.fx.GraphModule, inputs: list[Any]) -> dict[str, Any]:
    """Describe a graph, its nodes and its example inputs, and the contexts around the call."""
    symbols = _Symbols()
    nodes = list(gm.graph.nodes)
    placeholders = [node for node in nodes if node.op == "placeholder"]
    calls = [node for node in nodes if node.op.startswith("call")]
    context, compiling = TracingContext.try_get(), CompileContext.try_get()
    values = [node.meta.get("example_value") for node in nodes]
    mode = _fake_mode(values)
    graphargs = [node.meta.get("grapharg") for node in placeholders]
    tensors = [n for n, i in zip(placeholders, inputs, strict=True) if isinstance(i, torch.Tensor)]
    names = {node: f"node {index}" for index, node in enumerate(calls)}
    names |= {node: "input" for node in placeholders}
    any_symbol = lambda value: re.sub(r"'n\d+'", "'n'", str(value))
    arguments = lambda node: str(
        torch.fx.node.map_arg((node.args, node.kwargs), lambda n: names[n])
    )
    return {
        "class": type(gm).__bases__[0].__name__,
        "tracing context": context is not None,
        "fake mode of the context": context is not None and context.fake_mode is mode,
        "shape env": mode is not None and mode.shape_env is not None,
        "compile id": compiling is not None and compiling.compile_id is not None,
        "meta of the graph": sorted(gm.meta),
        "compiling flag": bool(torch.compiler.is_compiling()),
        "input kinds": [type(i).__name__ for i in inputs],
        "argument kinds": [
            type(i).__name__ for i in inputs if not isinstance(i, torch.nn.Parameter)
        ],
        "tensors": sorted(
            any_symbol(
                (_tensor(i, symbols), _tensor(n.meta.get("example_value"), symbols), _static(n))
            )
            for n, i in zip(placeholders, inputs, strict=True)
            if isinstance(i, torch.Tensor)
        ),
        "placeholder names": [node.name for node in placeholders],
        "placeholder sources": [
            getattr(getattr(g, "source", None), "name", None) for g in graphargs
        ],
        "placeholder source classes": [
            type(getattr(g, "source", None)).__name__ for g in graphargs
        ],
        "keys of tensors": sorted({*chain.from_iterable(node.meta for node in tensors)}),
        "grapharg": all(_is_graph_argument(node) for node in placeholders),
        "source on the node": all(getattr(node, "_dynamo_source", None) for node in placeholders),
        "parameter sources": sorted(getattr(gm, "_param_name_to_source", None) or {}),
        "operations": [(node.op, _target(node)) for node in calls],
        "names": [node.name for node in calls],
        "arguments": [arguments(node) for node in calls],
        "values": [any_symbol(_tensor(node.meta.get("example_value"), symbols)) for node in calls],
        "keys": [sorted(node.meta) for node in calls if node.meta.get("example_value") is not None],
        "stack_trace": [_line(node) for node in calls if node.meta.get("stack_trace")],
        "nn_module_stack": [
            [
                (path, getattr(kind, "__name__", str(kind).rsplit(".")[-1]))
                for path, kind in (node.meta.get("nn_module_stack") or {}).values()
            ]
            for node in calls
        ],
        "source_fn_stack": [
            [
                (name, getattr(of, "__name__", str(of)))
                for name, of in node.meta.get("source_fn_stack") or []
            ]
            for node in calls
        ],
        "results": len(nodes[-1].args[0]),
        "output keys": sorted(nodes[-1].meta),
        "attributes": sorted(name for name, _ in gm.named_parameters()),
    }


def handed(compile: Callable[..., Any], make: Callable[[], Any]) -> list[dict[str, Any]]:
    """Compile a program, call it, and return what the backend was handed."""
    fn, calls = make()
    backend = Handed()
    compiled = compile(fn, backend=backend)
    for args in calls:
        compiled(*args)
    return backend.graphs
