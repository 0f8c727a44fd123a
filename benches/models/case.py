"""What a model to be measured is, and the table that holds all of them."""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import torch

#: Models and their inputs are made in this context: a `torch.device`, or nothing special.
DEVICE: Any = contextlib.nullcontext()

#: Positional and keyword arguments of a call.
Inputs = tuple[tuple[Any, ...], dict[str, Any]]


@dataclasses.dataclass(frozen=True)
class Case:
    """One model, or a function that holds one, and how to call it."""

    #: What `CASES` calls it.
    name: str
    #: The library that it comes from: torchvision, timm, hf or torch.
    suite: str
    make: Callable[[], Any]
    make_inputs: Callable[[int], Inputs]
    #: Whether it runs with gradients enabled.
    grad: bool = False
    #: Whether a call changes the model or its inputs.
    mutates: bool = False
    #: Whether the program depends on data, so that more than one graph is no surprise.
    hard: bool = False
    #: Whether another batch size makes sense.
    batched: bool = True
    #: Whether its inputs are texts, of which another length makes sense.
    takes_lengths: bool = False

    def build(self) -> Any:
        """Return the callable; the same weights each time."""
        torch.manual_seed(0)
        with DEVICE:
            return self.make()

    def inputs(self, batch: int = 2) -> Inputs:
        """Return arguments; the same ones each time for one batch size."""
        torch.manual_seed(1)
        with DEVICE:
            return self.make_inputs(batch)


def module_of(fn: Any) -> torch.nn.Module | None:
    """Return the module that a callable is, or holds."""
    return fn if isinstance(fn, torch.nn.Module) else getattr(fn, "module", None)


def total(value: Any) -> Any:
    """Return the sum of everything in a result that takes gradients."""
    if isinstance(value, torch.Tensor):
        differentiable = value.requires_grad and value.is_floating_point()
        return value.float().square().mean() if differentiable else 0
    if isinstance(value, dict):
        return sum(map(total, value.values()))
    if isinstance(value, (list, tuple)):
        return sum(map(total, value))
    return 0


def called(target: Any, inputs: Inputs, grad: bool) -> Any:
    """Return what a call gives, always with the same random numbers; `grad`: and go backward."""
    args, kwargs = inputs
    torch.manual_seed(2)
    with torch.set_grad_enabled(grad):
        out = target(*args, **kwargs)
        loss = total(out) if grad else 0
        if isinstance(loss, torch.Tensor) and loss.requires_grad:
            loss.backward()
    return out


def left(module: torch.nn.Module | None) -> list[dict[str, Any]]:
    """Return what calls leave in a module: parameters and buffers, and gradients."""
    if module is None:
        return []
    state = {name: t.detach().clone() for name, t in module.state_dict().items()}
    return [state, {name: p.grad for name, p in module.named_parameters()}]


CASES: dict[str, Case] = {}


def add(name: str, suite: str, make: Callable[[], Any], inputs: Any, **flags: bool) -> None:
    CASES[name] = Case(name, suite, make, inputs, **flags)


def case(name: str, suite: str, inputs: Callable[[int], Inputs], **flags: bool) -> Any:
    def decorate(make: Callable[[], Any]) -> Callable[[], Any]:
        add(name, suite, make, inputs, **flags)
        return make

    return decorate


def randn(*shape: int) -> Callable[[int], Inputs]:
    """Inputs: one tensor of random numbers, `shape` for each item of the batch."""
    return lambda batch: ((torch.randn(batch, *shape),), {})


#: How long texts are, where a measurement asks for a length of its own.
_LENGTH: contextvars.ContextVar[int | None] = contextvars.ContextVar("length", default=None)


@contextlib.contextmanager
def length(wanted: int | None) -> Iterator[None]:
    """Make texts of another length than a model's own."""
    token = _LENGTH.set(wanted)
    try:
        yield
    finally:
        _LENGTH.reset(token)


def length_of(usual: int) -> int:
    """Return how long a text is to be, where it is usually of the length given."""
    return _LENGTH.get() or usual


#: Words of the language models.
VOCABULARY = 256


def tokens(batch: int, length: int, high: int = VOCABULARY) -> torch.Tensor:
    return torch.randint(3, high, (batch, length))
