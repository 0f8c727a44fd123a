"""Programs of torch's operator and module databases: what is called, with what."""

from __future__ import annotations

import random
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy
import torch
from compare import Observed
from torch.utils._pytree import tree_flatten, tree_map

SEED = 2147


def seed() -> None:
    """Put all generators to the same place."""
    torch.manual_seed(SEED)
    random.seed(SEED)
    numpy.random.seed(SEED)


def _copied(value: Any) -> Any:
    """A tensor with the same layout in memory of its own; anything else as it is."""
    if not isinstance(value, torch.Tensor):
        return value
    source = value.detach()
    plain = type(source) is torch.Tensor and source.layout is torch.strided
    if not plain or source.is_quantized or source.is_conj() or source.is_neg():
        made = source.clone()
    else:
        storage = source.untyped_storage().clone()
        made = torch.empty(0, dtype=source.dtype, device=source.device)
        made.set_(storage, source.storage_offset(), source.shape, source.stride())
    if isinstance(value, torch.nn.Parameter):
        return torch.nn.Parameter(made, value.requires_grad)
    return made.requires_grad_(value.requires_grad)


@dataclass
class Program:
    """A call that can be made anew: `make` gives a function and its arguments each time."""

    name: str
    make: Callable[[], tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]]

    def observe(self, wrap: Callable[[Any], Any], backward: bool) -> Observed:
        """Make the call through `wrap` and note what it does."""
        seed()
        function, args, kwargs = self.make()
        leaves = _leaves(function, args, kwargs)
        observed = Observed()
        seed()
        try:
            result = wrap(function)(*args, **kwargs)
        except Exception as error:
            observed.raised = error
            return observed
        observed.result = result
        if backward:
            _backward(observed, result, leaves)
        owned = function.state_dict() if isinstance(function, torch.nn.Module) else None
        observed.inputs = (args, kwargs, owned)
        return observed


def _leaves(function: Any, args: Any, kwargs: Any) -> dict[str, torch.Tensor]:
    found = {}
    if isinstance(function, torch.nn.Module):
        found.update(function.named_parameters())
    for i, value in enumerate(tree_flatten((args, kwargs))[0]):
        if isinstance(value, torch.Tensor) and value.requires_grad and value.is_leaf:
            found[f"input {i}"] = value
    return found


def _backward(observed: Observed, result: Any, leaves: dict[str, torch.Tensor]) -> None:
    outputs = [
        t
        for t in tree_flatten(result)[0]
        if isinstance(t, torch.Tensor) and t.requires_grad and t.grad_fn is not None
    ]
    if not outputs or not leaves:
        return
    try:
        given = [torch.ones_like(t) for t in outputs]
        found = torch.autograd.grad(outputs, list(leaves.values()), given, allow_unused=True)
    except Exception as error:
        observed.backward_raised = error
        return
    observed.gradients = dict(zip(leaves, found, strict=True))


def _fresh(template: types.FunctionType, value: Any) -> Callable[..., Any]:
    """A function with a code object of its own: nothing is compiled for it yet."""
    code = template.__code__.replace()
    scope = {"called": value, "__builtins__": __builtins__}
    return types.FunctionType(code, scope, template.__name__)


def _function(*args: Any, **kwargs: Any) -> Any:
    return called(*args, **kwargs)  # noqa: F821


def _inplace(first: Any, *args: Any, **kwargs: Any) -> Any:
    # Leaves that need gradients can't be written to.
    return called(first.clone(), *args, **kwargs)  # noqa: F821


def operators(entry: Any, dtype: torch.dtype, device: str, limit: int) -> Iterator[Program]:
    """Each sample of an operator, as a function, a method and an in-place method."""
    gradients = entry.supports_autograd and dtype.is_floating_point

    seed()
    samples = []
    for sample in entry.sample_inputs(device, dtype, requires_grad=gradients):
        samples.append((sample.input, tuple(sample.args), dict(sample.kwargs)))
        if len(samples) == limit:
            break
    forms = [
        ("function", _function, entry.get_op()),
        ("method", _function, entry.get_method()),
        ("inplace", _inplace, entry.get_inplace()),
    ]
    # A method is another program only where it is another object.
    forms = [(form, t, f) for form, t, f in forms if f is not None]
    if len(forms) > 1 and forms[1][0] == "method" and forms[1][2] is forms[0][2]:
        del forms[1]
    for i, sample in enumerate(samples):
        for form, template, function in forms:

            def make(sample=sample, template=template, function=function):
                first, args, kwargs = tree_map(_copied, sample)
                return _fresh(template, function), (first, *args), kwargs

            yield Program(f"{form} {i}", make)


def modules(entry: Any, dtype: torch.dtype, device: str, limit: int) -> Iterator[Program]:
    """Each pair of constructor and forward arguments of a module."""
    gradients = dtype.is_floating_point

    def inputs(training: bool) -> list[Any]:
        seed()
        made = entry.module_inputs_func(
            entry, device=device, dtype=dtype, requires_grad=gradients, training=training
        )
        return list(made)[:limit]

    for training in (True, False):
        for i, found in enumerate(inputs(training)):
            if found.forward_input is None:
                continue

            def make(i=i, training=training):
                given = inputs(training)[i]
                seed()
                built = given.constructor_input
                module = entry.module_cls(*built.args, **built.kwargs)
                module = module.to(device=device, dtype=dtype).train(training)
                call = given.forward_input
                return module, tuple(call.args), dict(call.kwargs)

            yield Program(f"{'train' if training else 'eval'} {i}", make)


def databases() -> dict[str, tuple[Any, Callable[..., Iterator[Program]]]]:
    """Entries of both databases by name, with what makes their programs."""
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.common_modules import module_db

    found: dict[str, tuple[Any, Callable[..., Iterator[Program]]]] = {}
    for entry in op_db:
        variant = f".{entry.variant_test_name}" if entry.variant_test_name else ""
        found[f"{entry.name}{variant}"] = (entry, operators)
    for entry in module_db:
        found[f"module:{entry.name}"] = (entry, modules)
    return found
