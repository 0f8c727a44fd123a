"""What is done behind a compiled graph that an earlier process has made.

Lives here: writing inputs that the graph has computed anew, and making outputs that are views of
inputs or of other outputs. Does not live here: the graph itself (`_artifact_runtime`), what of it
is kept (`_artifact`). Follows the semantics of torch's `RuntimeWrapper`.

Invariant: nothing of torch._dynamo, torch._inductor or sympy is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

_extension: Any = torch._C
_functionalization = _extension._functionalization


class Hidden(NamedTuple):
    """A result that autograd is not to see: it is only looked at for its shape."""

    tensor: torch.Tensor


def views_as_data(sequence: Sequence[Any]) -> list[list[Any]] | None:
    """Return views that follow each other as data of JSON; `None` where they depend on sizes.

    Raises `TypeError` for an argument of another kind than views of plain tensors have.
    """
    if any(view.has_symbolic_inputs for view in sequence):
        return None
    return [[type(view).__name__, *map(_as_data, view.as_tuple())] for view in sequence]


def _as_data(value: Any) -> Any:
    if isinstance(value, _functionalization.InverseReturnMode):
        return {"mode": value.name}
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, (list, tuple)) and all(type(item) is int for item in value):
        return list(value)
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).removeprefix("torch.")}
    raise TypeError(f"a view with {value!r}")


def _from_data(value: Any) -> Any:
    match value:
        case {"dtype": name}:
            return getattr(torch, name)
        case {"mode": name}:
            return getattr(_functionalization.InverseReturnMode, name)
        case _:
            return value


def _views(data: list[list[Any]]) -> list[Any]:
    return [
        getattr(_functionalization, name)(tuple(map(_from_data, arguments)))
        for name, *arguments in data
    ]


def _replayed(base: torch.Tensor, like: torch.Tensor) -> torch.Tensor | None:
    """Return the view of `base` that `like` is of its own base; `None` where it is none."""
    own, view_of = like._base, getattr(like, "_view_func")  # noqa: B009
    if own is None:
        return None
    layouts = [(x.size(), x.stride(), x.storage_offset()) for x in (base, own)]
    if base is not own and layouts[0] != layouts[1]:
        base = base.as_strided(*layouts[1])
    out = view_of(base)
    return out if out is not None and out.shape == like.shape else None


def _strided(base: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """Return the view of `base` that lies in memory as `like` does."""
    offset = like.storage_offset()
    if base.untyped_storage()._cdata != like.untyped_storage()._cdata:
        # The offset of a copy counts from where the copy begins.
        offset += base.storage_offset()
    if base.is_complex() and not like.is_complex():
        base = torch.view_as_real(base)
    elif like.is_complex() and not base.is_complex():
        base = torch.view_as_complex(base)
    return base.as_strided(like.size(), like.stride(), offset)


def _alias(
    base: torch.Tensor, like: torch.Tensor, requires_grad: bool, views: list[Any] | None
) -> torch.Tensor:
    """Return the view of `base` that stands for `like`."""
    by_strides = False
    if views is not None:
        out = _functionalization.apply_view_meta_sequence(base, views)
        if out.shape != like.shape:
            raise AssertionError(f"a view has shape {tuple(out.shape)}, not {tuple(like.shape)}")
    else:
        replayed = _replayed(base, like)
        by_strides = replayed is None
        out = _strided(base, like) if replayed is None else replayed
    if base.requires_grad and not requires_grad:
        out = out.detach()
    elif requires_grad and not base.requires_grad:
        out.requires_grad_(True)
    return out.view(like.dtype) if by_strides and out.dtype != like.dtype else out


def _write(given: torch.Tensor, made: Any, how: dict[str, bool]) -> None:
    """Give an input the data and the layout that the graph has computed for it."""
    if isinstance(made, Hidden):
        made = made.tensor
    if how["layout"]:
        given.as_strided_(made.size(), made.stride(), made.storage_offset())
    if not how["data"]:
        return
    if how["leaf"] and given.requires_grad:
        # Autograd lets no leaf be written: the program wrote it where autograd does not look.
        given.detach().copy_(made)
    else:
        given.copy_(made)


Finish = Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]


def behind(facts: dict[str, Any]) -> Finish | None:
    """Return what makes the outputs from the inputs and from what the graph returned.

    `None` where what the graph returned is the outputs.

    `facts["behind"]`: the inputs to be written, by place and how; `facts["aliases"]`: outputs that
    are views of an input or another output, by place.
    """
    if not facts["behind"] and not facts["aliases"]:
        return None
    writes = facts["behind"]
    first, outputs = len(writes), facts["outputs"]
    aliases = [
        (alias, None if alias["views"] is None else _views(alias["views"]))
        for alias in facts["aliases"]
    ]

    def finish(inputs: Sequence[Any], made: Sequence[Any]) -> Sequence[Any]:
        for (at, how), value in zip(writes, made, strict=False):
            _write(inputs[at], value, how)
        made = made[first:]
        results = list(made[:outputs])
        for alias, views in aliases:
            at, base = alias["at"], (inputs if alias["of_input"] else made)[alias["base"]]
            if alias["is_base"]:
                results[at] = base
                continue
            base = base.tensor if isinstance(base, Hidden) else base
            like = made[at].tensor if isinstance(made[at], Hidden) else made[at]
            results[at] = _alias(base, like, alias["requires_grad"], views)
        return results

    return finish
