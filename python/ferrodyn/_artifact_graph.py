"""Graphs of operators that a backend runs as they are, as text.

`aot_eager` and its relatives hand AOTAutograd's graphs to no compiler: what is kept is the code
that torch.fx writes of them. Does not live here: what AOTAutograd puts around a graph
(`_artifact`, `_artifact_runtime`).

Invariant: the text means the same in a process that has not imported torch's compiler; a graph of
which that can't be said is `Declined`.
"""

from __future__ import annotations

import ast
import cmath
import functools
import math
import operator
import types
from collections.abc import Callable, Sequence
from typing import Any

import torch

from . import _artifact_operators
from ._artifact_gpu import Declined

#: Namespaces of operators that are torch's own.
_NAMESPACES = frozenset({"aten", "prims", "higher_order"})
#: Operators that run the graphs that they are given, whoever calls them. Older torchs lack some.
_RUN_GRAPHS = tuple(
    getattr(torch.ops.higher_order, name)
    for name in (
        *("cond", "while_loop", "scan", "map_impl", "associative_scan"),
        *("flex_attention", "flex_attention_backward"),
    )
    if hasattr(torch.ops.higher_order, name)
)
#: Modules of functions of sizes and numbers.
_MODULES = (math, cmath, operator)

#: What the code may name.
_SCOPE: dict[str, Any] = {
    "torch": torch,
    "device": torch.device,
    "inf": math.inf,
    "nan": math.nan,
    "NoneType": type(None),
    **{module.__name__: module for module in _MODULES},
}


def told(module: Any) -> dict[str, Any]:
    """Return what is kept of a `torch.fx.GraphModule` that takes its inputs in one list.

    Raises `Declined` where its code would need more than operators and numbers.
    """
    from torch.fx.graph import _BoxedCodeGen

    return _told(module, _BoxedCodeGen())


def _told(module: Any, codegen: Any) -> dict[str, Any]:
    """Return what is kept of a graph whose function is called as `codegen` writes it."""
    graph = module.graph
    constants: dict[str, Any] = {}
    graphs: dict[str, Any] = {}
    operators: set[str] = set()
    of_program: set[str] = set()
    for node in graph.nodes:
        if node.op == "get_attr":
            held = getattr(module, node.target, None)
            part: Any = getattr(held, "graph", None)
            if isinstance(held, torch.nn.Module) and part is not None:
                graphs[node.target] = _told(held, part._codegen)
            else:
                constants[node.target] = _constant(held)
        elif (called := _operator(node)) is not None:
            (operators if called.namespace in _NAMESPACES else of_program).add(_path(called))
    before = graph._codegen
    graph.set_codegen(codegen)
    try:
        written = graph.python_code("self")
    finally:
        graph.set_codegen(before)
    code = ast.parse(written.src)
    used = {node.id for node in ast.walk(code) if isinstance(node, ast.Name)}
    for name in used & set(written.globals):
        if not _is_known(name, written.globals[name]):
            raise Declined(f"the name {name} in the code of a graph")
    return {
        "operators": sorted(operators),
        "relied on": _artifact_operators.relied_on(of_program),
        "constants": constants,
        "graphs": graphs,
        "code": ast.unparse(code),
        "gpu": False,
    }


#: How many elements a tensor in a graph may have to be written with it.
_MOST_ELEMENTS = 1024


def _constant(value: Any) -> dict[str, Any]:
    """Return a tensor that a graph holds: what made it is in what the graph is found by."""
    if type(value) is not torch.Tensor or value.requires_grad or not value.device.type == "cpu":
        raise Declined("a graph that holds tensors or modules")
    is_plain = value.layout is torch.strided and not value.is_quantized
    if not is_plain or not value.is_contiguous() or value.numel() > _MOST_ELEMENTS:
        raise Declined("a tensor in the graph that is large, or no plain one")
    content = value.detach().resolve_conj().resolve_neg().reshape(-1).view(torch.uint8)
    dtype = str(value.dtype).removeprefix("torch.")
    return {"dtype": dtype, "shape": list(value.shape), "bytes": content.tolist()}


def _path(operator: Any) -> str:
    """Return where an operator is found in `torch.ops`."""
    if isinstance(operator, torch._ops.HigherOrderOperator):
        return f"higher_order.{operator._name}"
    return str(operator)


def _made(told: dict[str, Any]) -> torch.Tensor:
    """Return a tensor that a graph held."""
    content = torch.tensor(told["bytes"], dtype=torch.uint8)
    return content.view(getattr(torch, told["dtype"])).reshape(told["shape"])


def _operator(node: Any) -> Any:
    """Return the operator that a node calls, if any.

    Raises `Declined` for a node that is no call of an operator or of a function of numbers.
    """
    if node.op in ("placeholder", "output"):
        return None
    target = node.target
    if node.op != "call_function":
        raise Declined("a graph that holds tensors or modules")
    if isinstance(target, torch._ops.OpOverload):
        return target
    if isinstance(target, torch._ops.HigherOrderOperator):
        if target not in _RUN_GRAPHS:
            raise Declined(f"the operator {target}")
        return target
    return None


def _is_known(name: str, value: Any) -> bool:
    """Whether the code finds the same under a name."""
    if name not in _SCOPE:
        return False
    known = _SCOPE[name]
    # nan is another object each time.
    return known is value or (isinstance(value, float) and repr(value) == repr(known))


def loaded(half: dict[str, Any]) -> Callable[[list[Any]], Sequence[Any]]:
    """Return the function that a graph was written as.

    Raises `AttributeError` where torch has not defined an operator: some are defined by modules
    that not every torch imports at once. `ValueError` where one of the program's has changed.
    """
    return _loaded(half)


def _loaded(graph: dict[str, Any]) -> Callable[..., Any]:
    for name in graph["operators"]:
        _artifact_operators.named(name)
    _artifact_operators.check(graph["relied on"])
    scope = dict(_SCOPE)
    exec(compile(graph["code"], "<ferrodyn artifact>", "exec"), scope)
    held = {name: _made(of) for name, of in graph["constants"].items()}
    held |= {name: _loaded(of) for name, of in graph["graphs"].items()}
    return functools.partial(scope["forward"], types.SimpleNamespace(**held))
