"""Operators of the program's that a compiler does not look into.

Lives here: what is relied on of one, in a key and in what is kept of a graph. Does not live here:
how it is told (`captures`).

Invariant: a graph that calls one is run only where the operator is what it was.
"""

from __future__ import annotations

import ast
import operator
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from . import _core
from ._artifact_gpu import Declined


def told(called: Any) -> str | None:
    """Return what compilers rely on of an operator; None where that can't be told."""
    if _is_replaced(called):
        return None
    try:
        return _core.opaque_operator(called)
    except ValueError:
        return None


def _is_replaced(called: Any) -> bool:
    """Whether the program has told a compiler to make something else of an operator."""
    decomposed = sys.modules.get("torch._inductor.decomposition")
    if decomposed is not None and called in decomposed.decompositions:
        return True
    lowered = sys.modules.get("torch._inductor.lowering")
    return lowered is not None and called in lowered.lowerings and called not in lowered.fallbacks


def named(path: str) -> Any:
    """Return the operator of a path in `torch.ops`; raises AttributeError where there is none."""
    return operator.attrgetter(path)(torch.ops)


def relied_on(paths: Iterable[str]) -> dict[str, str]:
    """Return what is relied on of operators, by path; raises `Declined` where it can't be told."""
    found = {}
    for path in sorted(set(paths)):
        known = told(named(path))
        if known is None:
            raise Declined(f"the operator {path}")
        found[path] = known
    return found


def check(relied: dict[str, str]) -> None:
    """Raise ValueError where an operator has changed, AttributeError where it is not there."""
    for path, known in relied.items():
        if told(named(path)) != known:
            raise ValueError(f"the operator {path} has changed")


def called_in(tree: ast.AST, own: frozenset[str]) -> Iterator[str]:
    """Return the paths of operators that code calls in namespaces that are not `own`.

    Raises `Declined` where the code has a namespace of which it does not call an overload.
    """
    inside: set[int] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(
                value=ast.Attribute(
                    value=ast.Attribute(
                        value=ast.Attribute(value=ast.Name(id="torch"), attr="ops"),
                        attr=namespace,
                    ) as of,
                    attr=name,
                ),
                attr=overload,
            ) if namespace not in own:
                inside.add(id(of))
                yield f"{namespace}.{name}.{overload}"
            case ast.Attribute(
                value=ast.Attribute(value=ast.Name(id="torch"), attr="ops"), attr=namespace
            ) if namespace not in own and id(node) not in inside:
                raise Declined(f"torch.ops.{namespace}")
