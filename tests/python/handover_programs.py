"""Forty small programs, for which is compared what backends are handed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

#: What is compiled, and the arguments of its calls.
Program = tuple[Callable[..., Any], list[tuple[Any, ...]]]
PROGRAMS: dict[str, Callable[[], Program]] = {}


def _add(name: str, make: Callable[[], Callable[..., Any]], *calls: Callable[[], Any]) -> None:
    PROGRAMS[name] = lambda: (make(), [call() for call in calls])


def _function(name: str, fn: Callable[..., Any], *calls: Callable[[], Any]) -> None:
    _add(name, lambda: fn, *calls)


def _t(*sizes: int, grad: bool = False) -> torch.Tensor:
    return torch.arange(float(torch.Size(sizes).numel())).reshape(sizes).requires_grad_(grad)


class Block(nn.Module):
    """A layer with a buffer and a child."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.register_buffer("scale", torch.ones(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scale what the child gives."""
        return self.layer(x).relu() * self.scale


class Deep(nn.Module):
    """Blocks in a list and in a dict."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])
        self.named = nn.ModuleDict({"last": nn.LayerNorm(4)})
        self.free = nn.Parameter(torch.ones(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Apply all of them."""
        for block in self.blocks:
            x = block(x)
        return self.named["last"](x) + self.free


class Holder:
    """An object with tensors and numbers."""

    def __init__(self) -> None:
        self.weight = _t(4)
        self.count = 3
        self.many = [_t(4), {"a": _t(4)}]


def _static() -> torch.Tensor:
    x = _t(4)
    torch._dynamo.mark_static_address(x)
    return x


def _marked() -> torch.Tensor:
    x = _t(5, 4)
    torch._dynamo.mark_dynamic(x, 0)
    return x


def _partly_no_grad(x: torch.Tensor) -> Any:
    with torch.no_grad():
        y = x.sin()
    return x * y


_GLOBAL = _t(4)
one = lambda: (_t(4),)
two = lambda: (_t(4), _t(4))
matrix = lambda: (_t(3, 4),)
sizes = [lambda n=n: (_t(n, 4),) for n in (3, 5, 6)]

_function("pointwise", lambda x: torch.relu(x) + 1, one)
_function("methods", lambda x: x.sin().cos_().add(2, alpha=3), one)
_function("operators", lambda x, y: (x @ y, x**2, -x, x[1:], x > y), two)
_function("two_inputs", lambda x, y: x * y + x, two)
_function("same_twice", lambda x, y: x + y, lambda: (_t(4),) * 2)
_function("gradient", lambda x: (x * x).sum(), lambda: (_t(4, grad=True),))
_function("unused", lambda x, y: x + 1, two)
_function("keyword", lambda x: F.softmax(x, dim=-1), matrix)
_function("list_argument", lambda xs: xs[0] + xs[1], lambda: ([_t(4), _t(4)],))
_function("dict_argument", lambda d: d["a"] * d["b"], lambda: ({"a": _t(4), "b": _t(4)},))
_function("object", lambda o: o.weight * o.count + o.many[1]["a"], lambda: (Holder(),))
_function("global", lambda x: x + _GLOBAL, one)
_function("constant_int", lambda x, n: x * n, lambda: (_t(4), 3))
_function("closure", (lambda w: lambda x: x * w)(_t(4)), one)
_function("inplace", lambda x: x.mul_(2) + 1, one)
_function("views", lambda x: x.view(2, 2).t()[1], one)
_function("several_results", lambda x: (x + 1, [x + 2, {"a": x + 3}]), one)
_function("multiple", lambda x: torch.topk(x, 2), one)
_function("made_inside", lambda x: x + torch.ones(4) + torch.arange(4), one)
_function("no_grad", _partly_no_grad, lambda: (_t(4, grad=True),))
_function("double", lambda x: x.double().to(torch.float16), one)
_function("static_address", lambda x: x * 2, lambda: (_static(),))
_function("marked", lambda x: x * x.shape[0], lambda: (_marked(),))
_function("batches", lambda x: x * 2, *sizes)
_function("sizes", lambda x: x.view(-1) * x.shape[0], *sizes)
_function("slices", lambda x: x[: x.shape[0] // 2].sum(0), *sizes)
_function("two_batches", lambda x: x @ x.t() + x.size(0), *sizes)
_function("ints", lambda x, n: x * n, *[lambda n=n: (_t(4), n) for n in (3, 5, 6)])
_function("floats", lambda x, s: x * s, *[lambda s=s: (_t(4), s) for s in (0.5, 1.5, 2.5)])
_function("helper", lambda x: F.gelu(F.linear(x, torch.ones(2, 4))), matrix)
_function("loss", lambda x, y: F.mse_loss(x, y), two)
_function("attention", lambda x: F.scaled_dot_product_attention(x, x, x), lambda: (_t(1, 3, 4),))
_function("dropout", lambda x: F.dropout(x, 0.5, training=False), one)
_function("conv", lambda x, w: F.conv1d(x, w), lambda: (_t(1, 2, 5), _t(3, 2, 2)))
_add("linear", lambda: nn.Linear(4, 2), matrix)
_add("block", Block, matrix)
_add("deep", Deep, matrix)
_add("sequential", lambda: nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2)), matrix)
_add("norms", lambda: nn.Sequential(nn.BatchNorm1d(4), nn.LayerNorm(4)), matrix)
_add("module_batches", Block, *sizes)
