"""What a call did, and how it differs from what another did."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch


@dataclass
class Observed:
    """Everything that a program can see of a call."""

    #: The result, or what the call raised.
    result: Any = None
    raised: BaseException | None = None
    #: What was given to the call, afterwards.
    inputs: Any = None
    #: Gradients by the name of the tensor, or what the backward pass raised.
    gradients: dict[str, torch.Tensor | None] = field(default_factory=dict)
    backward_raised: BaseException | None = None


def difference(expected: Observed, actual: Observed) -> str | None:
    """Return in a line how two calls differ; nothing where they are the same."""
    if expected.raised is not None or actual.raised is not None:
        return _raised(expected.raised, actual.raised)
    found = _difference(expected.result, actual.result, "result")
    found = found or _difference(expected.inputs, actual.inputs, "input")
    if found:
        return found
    if expected.backward_raised is not None or actual.backward_raised is not None:
        found = _raised(expected.backward_raised, actual.backward_raised)
        return found and f"backward: {found}"
    return _difference(expected.gradients, actual.gradients, "gradient")


def _raised(expected: BaseException | None, actual: BaseException | None) -> str | None:
    def name(error: BaseException | None) -> str:
        return "nothing" if error is None else type(error).__qualname__

    if expected is not None and actual is not None and type(expected) is type(actual):
        return None
    message = "" if actual is None else f": {str(actual).strip()[:300]}"
    return f"raises {name(actual)}, eager {name(expected)}{message}"


def _difference(expected: Any, actual: Any, where: str) -> str | None:
    if type(expected) is not type(actual):
        return f"{where}: type {type(actual).__name__}, eager {type(expected).__name__}"
    if isinstance(expected, torch.Tensor):
        return _tensors(expected, actual, where)
    if isinstance(expected, dict):
        if list(expected) != list(actual):
            return f"{where}: other keys"
        pairs = [(key, expected[key], actual[key]) for key in expected]
    elif isinstance(expected, (list, tuple)):
        if len(expected) != len(actual):
            return f"{where}: length {len(actual)}, eager {len(expected)}"
        pairs = [(i, *pair) for i, pair in enumerate(zip(expected, actual, strict=True))]
    else:
        return None if _equal(expected, actual) else f"{where}: {actual!r}, eager {expected!r}"
    found = (_difference(a, b, f"{where}[{key!r}]") for key, a, b in pairs)
    return next((text for text in found if text), None)


def _equal(expected: Any, actual: Any) -> bool:
    if expected is actual:
        return True
    try:
        return bool(expected == actual) or bool(expected != expected and actual != actual)
    except Exception:
        # Objects that can't be compared: their types are the same.
        return True


def _tensors(expected: torch.Tensor, actual: torch.Tensor, where: str) -> str | None:
    for name in ("dtype", "device", "layout", "shape", "requires_grad", "is_leaf"):
        a, b = getattr(expected, name), getattr(actual, name)
        if a != b:
            return f"{where}: {name} {b}, eager {a}"
    if expected.layout is not torch.strided:
        if expected.is_nested or expected.is_mkldnn:
            return None
        return _tensors(expected.detach().to_dense(), actual.detach().to_dense(), where)
    # Strides of dimensions of one item, and of no items, say nothing.
    strides = [
        tuple(s for s, n in zip(t.stride(), t.shape, strict=True) if n > 1) if t.numel() else ()
        for t in (expected, actual)
    ]
    if strides[0] != strides[1]:
        return f"{where}: stride {actual.stride()}, eager {expected.stride()}"
    if expected.is_conj() != actual.is_conj() or expected.is_neg() != actual.is_neg():
        return f"{where}: lazy conjugation or negation"
    if expected.device.type == "meta":
        return None
    differ = _differing(expected.detach(), actual.detach())
    if differ:
        return f"{where}: {differ} of {expected.numel()} values differ"
    return None


def _differing(expected: torch.Tensor, actual: torch.Tensor) -> int:
    """How many values are not the same bits, where all NaNs are."""
    expected, actual = expected.resolve_conj().resolve_neg(), actual.resolve_conj().resolve_neg()
    if expected.is_quantized:
        expected, actual = expected.int_repr(), actual.int_repr()
    if expected.dtype.is_complex:
        expected, actual = torch.view_as_real(expected), torch.view_as_real(actual)
    if not expected.dtype.is_floating_point:
        return int((expected != actual).sum())
    expected, actual = expected.double(), actual.double()
    same = (expected == actual) & (expected.signbit() == actual.signbit())
    return int((~(same | (expected.isnan() & actual.isnan()))).sum())
