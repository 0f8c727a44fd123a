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
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ._artifact_gpu import Declined

#: Namespaces of operators that are torch's own.
_NAMESPACES = frozenset({"aten", "prims"})
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

    graph = module.graph
    operators = {_operator(node) for node in graph.nodes} - {None}
    before = graph._codegen
    graph.set_codegen(_BoxedCodeGen())
    try:
        written = graph.python_code("self")
    finally:
        graph.set_codegen(before)
    code = ast.parse(written.src)
    used = {node.id for node in ast.walk(code) if isinstance(node, ast.Name)}
    for name in used & set(written.globals):
        if not _is_known(name, written.globals[name]):
            raise Declined(f"the name {name} in the code of a graph")
    return {"operators": sorted(operators), "code": ast.unparse(code), "gpu": False}


def _operator(node: Any) -> str | None:
    """Return the name of the operator that a node calls, if any.

    Raises `Declined` for a node that is no call of an operator or of a function of numbers.
    """
    if node.op in ("placeholder", "output"):
        return None
    target = node.target
    if node.op != "call_function":
        raise Declined("a graph that holds tensors or modules")
    if isinstance(target, torch._ops.OpOverload) and target.namespace in _NAMESPACES:
        return str(target)
    if isinstance(target, (torch._ops.OpOverload, torch._ops.HigherOrderOperator)):
        raise Declined(f"the operator {target}")
    return None


def _is_known(name: str, value: Any) -> bool:
    """Whether the code finds the same under a name."""
    known = _SCOPE.get(name, _SCOPE)
    # nan is another object each time.
    return known is value or (isinstance(value, float) and repr(value) == repr(known))


def loaded(half: dict[str, Any]) -> Callable[[list[Any]], Sequence[Any]]:
    """Return the function that a graph was written as.

    Raises `AttributeError` where torch has not defined an operator: some are defined by modules
    that not every torch imports at once.
    """
    for name in half["operators"]:
        operator.attrgetter(name)(torch.ops)
    scope = dict(_SCOPE)
    exec(compile(half["code"], "<ferrodyn artifact>", "exec"), scope)
    forward = scope["forward"]
    return lambda inputs: forward(None, inputs)
