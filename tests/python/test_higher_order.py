"""Operators of functions get the operands that eager gets, wherever those come from.

Each program uses tensors that nothing has used before: a global, an attribute, an item of a list
or a dictionary, a parameter, a buffer, the closure of a function, a default. All hold different
values, so that one in the place of another shows.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

import harness
import pytest
import torch
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd
from torch._higher_order_ops.hints_wrap import hints_wrapper
from torch._higher_order_ops.map import map as map_rows
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.strict_mode import strict_mode
from torch._higher_order_ops.while_loop import while_loop
from torch._higher_order_ops.wrap import wrap
from torch.utils._pytree import tree_leaves
from torch.utils.checkpoint import checkpoint

pytestmark = pytest.mark.slow

a = torch.tensor([10.0, 11, 13])
b = torch.tensor([0.5, 0.25, 0.125])
rows = torch.arange(12.0).reshape(4, 3)
first = torch.tensor(0)
items = [torch.tensor([3.0, 1, 4]), torch.tensor([1.0, 5, 9])]
names = {"t": torch.tensor([2.0, 6, 5]), "u": [torch.tensor([3.0, 5, 8])]}
held = types.SimpleNamespace(t=torch.tensor([9.0, 7, 9]))
torch.manual_seed(0)
layers = [torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)]


class Branches(torch.nn.Module):
    """Parameters and buffers are operands, or are used in a branch."""

    def __init__(self, operands: bool) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)
        self.other = torch.nn.Linear(3, 3)
        self.p = torch.nn.Parameter(torch.tensor([3.0, 2, 3]))
        self.register_buffer("b", torch.tensor([8.0, 4, 6]))
        self.operands = operands

    def forward(self, p: torch.Tensor, x: torch.Tensor) -> Any:
        """One way or the other."""
        if self.operands:
            return torch.cond(
                p,
                lambda u, v, w: u * v - w,
                lambda u, v, w: self.other(v) - w * u,
                (self.p, x, self.b),
            )
        return torch.cond(
            p, lambda v: self.layer(v) * self.p + self.b, lambda v: self.other(v) - self.p, (x,)
        )


modules = [Branches(operands=True), Branches(operands=False)]


def cond_of_closures(p: torch.Tensor, x: torch.Tensor) -> Any:
    return torch.cond(p, lambda v: v - a, lambda v: a - v, (x,))


def cond_of_a_global(p: torch.Tensor, x: torch.Tensor) -> Any:
    return torch.cond(p, lambda u, v: u - v, lambda u, v: v - u * 2, (a, x)) * b - a


def cond_of_globals(p: torch.Tensor, x: torch.Tensor) -> Any:
    return torch.cond(p, lambda u, v: u - v, lambda u, v: v - u * 2, (a, b))


def cond_of_a_list(p: torch.Tensor, x: torch.Tensor) -> Any:
    return torch.cond(
        p, lambda u, v: u[0] - u[1] / v, lambda u, v: v - u[1] * 2, (items, x)
    ), items[0] + x


def cond_of_a_dict(p: torch.Tensor, x: torch.Tensor) -> Any:
    return torch.cond(
        p, lambda u, v: u["t"] - u["u"][0] / v, lambda u, v: v - u["t"] * 2, (names, x)
    )


def cond_of_an_attribute(p: torch.Tensor, x: torch.Tensor) -> Any:
    return torch.cond(p, lambda u, v: u - v, lambda u, v: v * items[1] - u, (held.t, x))


def cond_of_one_tensor_twice(p: torch.Tensor, x: torch.Tensor) -> Any:
    return torch.cond(p, lambda u, v: u - v * 2, lambda u, v: u - v * 3, (a, a))


def cond_of_modules(p: torch.Tensor, x: torch.Tensor) -> Any:
    return torch.cond(p, layers[0], layers[1], (x,))


def cond_of_partials(p: torch.Tensor, x: torch.Tensor) -> Any:
    def add(u: torch.Tensor, v: torch.Tensor, w: torch.Tensor = a) -> torch.Tensor:
        return u * v + w

    return torch.cond(
        p, functools.partial(add, b), functools.partial(add, held.t, w=items[0]), (x,)
    )


def cond_in_branches(p: torch.Tensor, x: torch.Tensor) -> Any:
    y = x * 2

    def yes(v: torch.Tensor) -> Any:
        c = v + b
        return torch.cond(c.sum() > 1, lambda q: q - a + c, lambda q: b * q - y, (v,))

    def no(v: torch.Tensor) -> Any:
        return torch.cond(v.sum() > a.sum(), lambda q: q + y, lambda q: q - held.t, (v,))

    return torch.cond(p, yes, no, (x,))


def cond_of_a_global_predicate(p: torch.Tensor, x: torch.Tensor) -> Any:
    return torch.cond(first == 0, lambda v: v - b, lambda v: b - v * a, (x,))


def loop_from_globals(p: torch.Tensor, x: torch.Tensor) -> Any:
    return while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * b + x), (first, a))


def loop_over_items(p: torch.Tensor, x: torch.Tensor) -> Any:
    return while_loop(
        lambda i, u, v: i < 3,
        lambda i, u, v: (i + 1, u * v + a, v - items[1]),
        (first, x, items[0]),
    )


def map_of_globals(p: torch.Tensor, x: torch.Tensor) -> Any:
    return map_rows(lambda row, v: row * v - b, rows, a)


def map_of_a_cond(p: torch.Tensor, x: torch.Tensor) -> Any:
    def one(row: torch.Tensor, v: torch.Tensor) -> Any:
        return torch.cond(row.sum() > 5, lambda q: q * v - b, lambda q: q + a, (row,))

    return map_rows(one, rows, x)


def scan_of_globals(p: torch.Tensor, x: torch.Tensor) -> Any:
    return scan(lambda c, row: (c + row * b, c * row - x), a, rows)


def scan_of_a_dict(p: torch.Tensor, x: torch.Tensor) -> Any:
    return scan(lambda c, row: ({"c": c["c"] + row * b}, c["c"] * row - a), {"c": x}, rows)


def checkpoint_of_a_list(p: torch.Tensor, x: torch.Tensor) -> Any:
    def body(u: torch.Tensor, v: list[torch.Tensor]) -> torch.Tensor:
        return (u * v[0] - a).sin() * layers[0](v[1])

    return checkpoint(body, x, items, use_reentrant=False)


def wrap_of_globals(p: torch.Tensor, x: torch.Tensor) -> Any:
    return wrap(lambda u, *, v: (u * v - x).sin() * items[1], a, v=b)


def wrap_of_a_list(p: torch.Tensor, x: torch.Tensor) -> Any:
    def body(u: torch.Tensor, v: list[torch.Tensor]) -> dict[str, Any]:
        inner = wrap(lambda t: layers[1](t) - v[1], u)
        return {"made": [u * v[0] - inner, 2], "given": (names["t"], layers[0](v[1]))}

    made = wrap(body, x, items)
    return made["made"][0] * made["made"][1], made["given"]


def hints_of_globals(p: torch.Tensor, x: torch.Tensor) -> Any:
    body = lambda u, v: (u.detach() * v - a, held.t - v)  # noqa: E731
    return hints_wrapper(body, (x.detach(), b), {}, hints={"level": 1})


def strict_mode_of_globals(p: torch.Tensor, x: torch.Tensor) -> Any:
    return strict_mode(lambda u, v: [u.detach() * v - a, held.t - v], (x.detach(), b))


def checkpoint_of_globals(p: torch.Tensor, x: torch.Tensor) -> Any:
    return checkpoint(lambda u, v: (u * v - x).sin() * items[1], a, b, use_reentrant=False)


def grad_of_globals(p: torch.Tensor, x: torch.Tensor) -> Any:
    return torch.func.grad(lambda u, v: (u * v[0] - b * layers[1](u)).sin().sum())(a, items)


def jvp_of_globals(p: torch.Tensor, x: torch.Tensor) -> Any:
    return torch.func.jvp(lambda u: u * b - a * items[0], (x,), (held.t,))


def jacobian_of_a_global(p: torch.Tensor, x: torch.Tensor) -> Any:
    return torch.func.jacrev(lambda u: u * b - x * items[0])(a)


def vmap_of_globals(p: torch.Tensor, x: torch.Tensor) -> Any:
    return torch.vmap(lambda row, v: row * v - a, in_dims=(0, None))(rows, b)


def vmap_of_grad(p: torch.Tensor, x: torch.Tensor) -> Any:
    return torch.vmap(torch.func.grad(lambda row: (row * b - a).sin().sum()))(rows)


class Scaled(torch.autograd.Function):
    """With a list among its arguments."""

    @staticmethod
    def forward(ctx: Any, u: torch.Tensor, v: list[torch.Tensor], w: torch.Tensor) -> Any:
        ctx.save_for_backward(u)
        ctx.v = v
        return u * v[0] - v[1] * w

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        return g * ctx.v[1], None, None


def function_of_a_list(p: torch.Tensor, x: torch.Tensor) -> Any:
    return Scaled.apply(x, items, b)


PROGRAMS: list[Callable[..., Any]] = [
    *(
        p
        for p in list(globals().values())
        if getattr(p, "__module__", "") == __name__ and isinstance(p, types.FunctionType)
    ),
    *modules,
]


def _name(program: Callable[..., Any]) -> str:
    return getattr(program, "__name__", None) or f"module_{modules.index(program)}"


def _run(fn: Callable[..., Any], decides: bool, records: bool) -> tuple[Sequence[Any], ...]:
    """What a call gives, and the gradients of all that has some."""
    x = torch.tensor([1.0, 2, 3], requires_grad=records)
    made = tree_leaves(fn(torch.tensor(decides), x))
    differentiable = [t for t in made if t.requires_grad]
    wanted = [x, *(p for m in (*layers, *modules) for p in m.parameters())]
    grads: Sequence[Any] = ()
    if differentiable and records:
        total = sum((at + 1) * t.sum() for at, t in enumerate(differentiable))
        grads = torch.autograd.grad(total, wanted, allow_unused=True)
    return made, grads


def _compare(
    program: Callable[..., Any],
    backend: Any,
    records: Sequence[bool] = (False, True),
    **close: float,
) -> None:
    for decides in (True, False):
        for recorded in records:
            expected = _run(program, decides, recorded)
            harness.reset()
            found = _run(harness.compile(program, backend=backend), decides, recorded)
            for one, other in zip(expected, found, strict=True):
                for want, got in zip(one, other, strict=True):
                    assert (want is None) == (got is None)
                    if want is not None:
                        torch.testing.assert_close(got, want, **close)
                        assert got.requires_grad == want.requires_grad


@pytest.mark.parametrize("program", PROGRAMS, ids=_name)
def test_graph_that_runs_as_it_is(program: Callable[..., Any]) -> None:
    recorder = harness.Recorder()
    _compare(program, recorder, rtol=0, atol=0)
    # One for each of the four calls, whose compiled code is forgotten in between.
    assert len(recorder.graphs) == 4


@pytest.mark.once
@pytest.mark.parametrize("program", PROGRAMS, ids=_name)
def test_below_autograd(program: Callable[..., Any]) -> None:
    _compare(program, "aot_eager", rtol=0, atol=0)


@pytest.mark.once
@pytest.mark.parametrize("program", [cond_in_branches, loop_over_items], ids=_name)
def test_below_inductor(program: Callable[..., Any]) -> None:
    _compare(program, "inductor", records=[False], rtol=1e-5, atol=1e-6)


def _graph_of(fn: Callable[..., Any], *args: Any) -> torch.fx.GraphModule:
    graphs: list[torch.fx.GraphModule] = []

    def backend(gm: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Any:
        graphs.append(gm)
        return gm.forward

    harness.compile(fn, backend=backend, fullgraph=True)(*args)
    (gm,) = graphs
    return gm


def _parts(gm: torch.fx.GraphModule) -> set[str]:
    return {name for name, part in gm.named_modules() if name and hasattr(part, "graph")}


@pytest.mark.once
def test_equal_regions_share_a_graph_below_a_compiler() -> None:
    blocks = torch.nn.ModuleList([torch.nn.Linear(3, 3) for _ in range(3)])

    @torch.compiler.nested_compile_region
    def block(layer: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
        return layer(x).relu() + b

    def program(x: torch.Tensor) -> torch.Tensor:
        for layer in blocks:
            x = block(layer, x.sin())
        return x

    graphs: list[torch.fx.GraphModule] = []

    def compiler(gm: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Any:
        graphs.append(gm)
        return make_boxed_func(gm.forward)

    x = torch.rand(3, requires_grad=True)
    expected = program(x)
    backend = aot_autograd(fw_compiler=compiler, bw_compiler=compiler)
    found = harness.compile(program, backend=backend, fullgraph=True)(x)
    torch.testing.assert_close(found, expected)
    (wanted,) = torch.autograd.grad(expected.sum(), x)
    torch.testing.assert_close(torch.autograd.grad(found.sum(), x)[0], wanted)
    forward = graphs[0].graph
    operator = torch.ops.higher_order.invoke_subgraph
    calls = [n for n in forward.nodes if n.target is operator]
    assert len(calls) == 3
    assert len({str(n.args[0].target) for n in calls}) == 1


def test_graphs_of_functions_have_torch_s_names() -> None:
    def nested(x: torch.Tensor) -> torch.Tensor:
        return wrap(lambda u: wrap(lambda v: v.sin(), u) + 1, x)

    assert _parts(_graph_of(nested, a)) == {"wrap_body_1", "wrap_body_1.wrap_body_0"}

    def branches(x: torch.Tensor) -> torch.Tensor:
        inner = lambda u: torch.cond(u.sum() > 1, torch.sin, torch.cos, (u,))  # noqa: E731
        return torch.cond(x.sum() > 0, inner, lambda u: u + 1, (x,))

    inner = {"cond_true_1.cond_true_0", "cond_true_1.cond_false_0"}
    assert _parts(_graph_of(branches, a)) == {"cond_true_1", "cond_false_1"} | inner


def test_nodes_of_functions_say_what_torch_s_say() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return wrap(lambda u: wrap(lambda v: v[:2].sin(), u) + 1, x)

    gm = _graph_of(program, a)
    part = gm.get_submodule("wrap_body_1.wrap_body_0")
    (sin,) = (node for node in part.graph.nodes if node.name == "sin")
    stack = [name.split("_")[0] for name, _ in sin.meta["source_fn_stack"]]
    assert stack == ["wrap", "wrap", "sin"]
    assert sin.meta["example_value"].shape == (2,)
    (given,) = (node for node in part.graph.nodes if node.op == "placeholder")
    assert given.meta["example_value"].shape == (3,)
    (read,) = (node for node in gm.graph.nodes if node.op == "get_attr")
    assert "return wrap(" in read.meta["stack_trace"]
