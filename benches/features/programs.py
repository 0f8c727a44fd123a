"""The programs, by feature.

Each function below makes one program: what is compiled, and the arguments of its calls in turn.
Arguments are made anew for each run, from the same random numbers.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch._dynamo
import torch.nn.functional as F
from torch import nn

Program = tuple[Callable[..., Any], list[tuple[Any, ...]]]
PROGRAMS: dict[str, Callable[[], Program]] = {}


def program(make: Callable[[], Program]) -> Callable[[], Program]:
    """Lists a program under its name."""
    PROGRAMS[make.__name__] = make
    return make


def grad(*sizes: int) -> torch.Tensor:
    """A tensor that records gradients."""
    return torch.randn(*sizes, requires_grad=True)


# Numbers and sizes.


@program
def float_arguments() -> Program:
    return (lambda x, s: torch.relu(x) * s + s), [(grad(4), 0.5 + i) for i in range(5)]


@program
def int_arguments() -> Program:
    return (lambda x, n: x[:4] * n), [(grad(8), 3 + i) for i in range(5)]


@program
def sizes_of_inputs() -> Program:
    return (lambda x: x.sum() / x.shape[0] + x.size(1)), [(grad(n, 3),) for n in (4, 5, 7, 9)]


@program
def unbacked_sizes() -> Program:
    def fn(x):
        return torch.cat([x, x.relu()]).sum(1) / x.shape[0]

    calls = []
    for n in (4, 1, 0, 7):
        x = torch.randn(n, 3)
        torch._dynamo.decorators.mark_unbacked(x, 0)
        calls.append((x,))
    return fn, calls


@program
def rounded_sizes() -> Program:
    def fn(x):
        half = x[: int(x.shape[0] / 2)]
        return half / x.shape[0] ** 0.5, torch.zeros(round(x.shape[0] * 0.75))

    return fn, [(torch.randn(n, 2),) for n in (4, 6, 9, 13)]


@program
def slices_and_views() -> Program:
    def fn(x):
        half = x[: x.shape[0] // 2]
        return half.reshape(-1, 2).mm(torch.ones(2, x.shape[0]))

    return fn, [(grad(n, 4),) for n in (4, 6, 8, 12)]


@program
def float_attributes() -> Program:
    class Scaled(nn.Module):
        scale = 1.0

        def forward(self, x):
            self.scale = self.scale + 0.25
            return x * self.scale

    return Scaled(), [(grad(3),) for _ in range(4)]


@program
def item_into_operations() -> Program:
    return (lambda x: x * x.detach().sum().item() + 1), [(grad(3),) for _ in range(2)]


@program
def item_of_an_index() -> Program:
    return (lambda x, i: torch.sin(x) + i.item()), [(grad(3), torch.tensor(n)) for n in (3, 4)]


@program
def list_of_numbers() -> Program:
    def fn(x, weights):
        a, b = weights.tolist()
        return x * a + x * b

    return fn, [(grad(3), torch.randn(2)) for _ in range(2)]


# Tensor subclasses.


class Logged(torch.Tensor):
    """A subclass with `__torch_function__`."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs or {})


@program
def torch_function_subclass() -> Program:
    return (lambda x: torch.relu(x + 1) * 2), [(torch.randn(3).as_subclass(Logged),)]


@program
def torch_function_subclass_made_inside() -> Program:
    def fn(x):
        return (torch.sin(x).as_subclass(Logged) + 1).as_subclass(torch.Tensor) * 2

    return fn, [(torch.randn(3),)]


@program
def two_tensor() -> Program:
    from torch.testing._internal.two_tensor import TwoTensor

    return (lambda x: torch.relu(x) * 2 + 1), [(TwoTensor(torch.randn(3), torch.randn(3)),)]


@program
def two_tensor_made_inside() -> Program:
    from torch.testing._internal.two_tensor import TwoTensor

    def fn(x, y):
        pair = TwoTensor(x, y)
        return (pair * 2 + 1).a

    return fn, [(torch.randn(3), torch.randn(3))]


@program
def jagged_nested_tensor() -> Program:
    def make():
        parts = [torch.randn(n, 4) for n in (2, 3)]
        return torch.nested.nested_tensor(parts, layout=torch.jagged)

    return (lambda x: torch.sin(x) * 2), [(make(),)]


@program
def distributed_tensor() -> Program:
    from torch import distributed
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Replicate, Shard

    if not distributed.is_initialized():
        store = distributed.HashStore()
        distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    mesh = init_device_mesh("cpu", (1,))

    def fn(x):
        made = DTensor.from_local(torch.relu(x), mesh, [Shard(0)])
        return (made * 2).redistribute(placements=[Replicate()]).to_local()

    return fn, [(grad(4, 3),)]


# NumPy.


@program
def numpy_inside() -> Program:
    def fn(x):
        return torch.from_numpy(np.sin(x.detach().numpy()) + 1) * 2

    return fn, [(torch.randn(3),)]


@program
def numpy_arguments() -> Program:
    return (lambda a, b: np.sum(a * b, axis=0) + 1), [
        (np.random.default_rng(i).random((2, 3)), np.ones((2, 3))) for i in range(2)
    ]


# Optimizers.


def _step(make: Callable[[list[torch.Tensor]], torch.optim.Optimizer], **options: Any) -> Program:
    model = nn.Linear(3, 2)
    optimizer = make(list(model.parameters()), **options)
    for p in model.parameters():
        p.grad = torch.ones_like(p)

    def fn():
        optimizer.step()
        return [p.detach().clone() for p in model.parameters()]

    return fn, [()] * 3


@program
def sgd_step() -> Program:
    return _step(torch.optim.SGD, lr=0.1, momentum=0.9)


@program
def adamw_step() -> Program:
    return _step(torch.optim.AdamW, lr=0.1)


@program
def adam_step_one_by_one() -> Program:
    return _step(torch.optim.Adam, lr=0.1, foreach=False)


@program
def adam_step_foreach() -> Program:
    return _step(torch.optim.Adam, lr=0.1, foreach=True)


@program
def step_with_a_schedule() -> Program:
    model = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=torch.tensor(0.1))
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    for p in model.parameters():
        p.grad = torch.ones_like(p)

    def fn():
        optimizer.step()
        schedule.step()
        return [p.detach().clone() for p in model.parameters()]

    return fn, [()] * 5


@program
def training_step() -> Program:
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def fn(x):
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    return fn, [(torch.randn(2, 3),) for _ in range(3)]


# torch.func and operators of functions.


@program
def func_grad() -> Program:
    return torch.func.grad(lambda x: torch.sin(x).sum()), [(torch.randn(3),)]


@program
def per_sample_gradients() -> Program:
    model = nn.Linear(3, 1)
    params = {k: v.detach() for k, v in model.named_parameters()}

    def loss(params, x):
        return torch.func.functional_call(model, params, (x,)).square().sum()

    def fn(x):
        return torch.vmap(torch.func.grad(loss), (None, 0))(params, x)

    return fn, [(torch.randn(4, 3),)]


@program
def func_vjp() -> Program:
    def fn(x, v):
        out, pull = torch.func.vjp(torch.sin, x)
        return out, pull(v)

    return fn, [(torch.randn(3), torch.randn(3))]


@program
def func_jvp() -> Program:
    return (lambda x, v: torch.func.jvp(torch.sin, (x,), (v,))), [(torch.randn(3), torch.randn(3))]


@program
def func_jacrev() -> Program:
    return (lambda x: torch.func.jacrev(torch.sin)(x)), [(torch.randn(3),)]


@program
def func_hessian() -> Program:
    return (lambda x: torch.func.hessian(lambda y: torch.sin(y).sum())(x)), [(torch.randn(3),)]


@program
def nested_vmap() -> Program:
    def fn(x, y):
        return torch.vmap(torch.vmap(torch.dot, (None, 0)), (0, None))(x, y)

    return fn, [(torch.randn(2, 3), torch.randn(4, 3))]


@program
def cond() -> Program:
    def fn(x):
        return torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,))

    return fn, [(torch.randn(3),) for _ in range(2)]


@program
def while_loop() -> Program:
    from torch._higher_order_ops.while_loop import while_loop as loop

    def fn(x):
        return loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2), (torch.tensor(0), x))

    return fn, [(torch.randn(3),)]


@program
def scan() -> Program:
    from torch._higher_order_ops.scan import scan as run

    def fn(x):
        return run(lambda c, y: (c + y, c * y), torch.zeros(3), x)

    return fn, [(torch.randn(4, 3),)]


@program
def map_over_rows() -> Program:
    from torch._higher_order_ops.map import map as over

    return (lambda x, y: over(lambda a, b: a + b, x, y)), [(torch.randn(4, 3), torch.randn(3))]


@program
def associative_scan() -> Program:
    from torch._higher_order_ops.associative_scan import associative_scan as run

    def fn(x):
        return run(lambda a, b: a + b, x, 0, combine_mode="generic")

    return fn, [(torch.randn(4, 3),)]


@program
def flex_attention() -> Program:
    from torch.nn.attention.flex_attention import flex_attention as attend

    def fn(q, k, v):
        return attend(q, k, v, score_mod=lambda s, b, h, i, j: s + (i - j) * 0.1)

    return fn, [tuple(torch.randn(1, 2, 16, 8) for _ in range(3))]


# Autograd.


@program
def checkpointed() -> Program:
    from torch.utils.checkpoint import checkpoint

    layer = nn.Linear(3, 3)

    def fn(x):
        return checkpoint(lambda y: torch.relu(layer(y)) * 2, x, use_reentrant=False) + 1

    return fn, [(grad(2, 3),)]


class Scale(torch.autograd.Function):
    """Reads a tensor from outside."""

    factor = torch.tensor(2.0)

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * Scale.factor

    @staticmethod
    def backward(ctx, g):
        return g * Scale.factor


@program
def autograd_function_with_outside_tensors() -> Program:
    return (lambda x: Scale.apply(torch.sin(x)) + 1), [(grad(3),)]


class Add(torch.autograd.Function):
    """Writes to its input."""

    @staticmethod
    def forward(ctx, x):
        x.add_(1)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g


@program
def autograd_function_mark_dirty() -> Program:
    return (lambda x: Add.apply(torch.sin(x)) * 2), [(grad(3),)]


@program
def selective_checkpoint() -> Program:
    from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

    contexts = functools.partial(
        create_selective_checkpoint_contexts, [torch.ops.aten.addmm.default]
    )
    layer = nn.Linear(3, 3)

    def fn(x):
        def body(y):
            return torch.relu(layer(y)) * 2

        return checkpoint(body, x, use_reentrant=False, context_fn=contexts) + 1

    return fn, [(grad(2, 3),)]


@program
def saved_tensors_hooks() -> Program:
    def fn(x):
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t):
            return torch.sin(x) * x

    return fn, [(grad(3),)]


@program
def tensor_hook() -> Program:
    def fn(x):
        y = torch.sin(x)
        y.register_hook(lambda g: g * 2)
        return y * 3

    return fn, [(grad(3),)]


@program
def tensor_hook_removed() -> Program:
    def fn(x):
        y = torch.sin(x)
        handle = y.register_hook(lambda g: g * 2)
        y.register_hook(lambda g: g * 3)
        handle.remove()
        return y * 3

    return fn, [(grad(3),)]


@program
def hook_of_an_input() -> Program:
    def fn(x):
        x.register_hook(lambda g: g * 2)
        return torch.sin(x) * 3

    return fn, [(grad(3),)]


@program
def autograd_grad_inside() -> Program:
    def fn(x):
        y = torch.sin(x).sum()
        (g,) = torch.autograd.grad(y, x)
        return g * 2

    return fn, [(grad(3),)]


@program
def backward_inside() -> Program:
    w = grad(3)

    def fn(x):
        (x * w).sum().backward()
        return w.grad.clone()

    return fn, [(torch.randn(3),)]


@program
def module_made_inside() -> Program:
    def fn(x):
        torch.manual_seed(0)
        return nn.Linear(3, 2)(x)

    return fn, [(torch.randn(2, 3),)]


@program
def parameter_made_inside() -> Program:
    return (lambda x: F.linear(x, nn.Parameter(torch.ones(2, 3)))), [(torch.randn(2, 3),)]


@program
def leaf_made_inside() -> Program:
    def fn(x):
        w = torch.ones(3, requires_grad=True)
        return (x * w).sum(), w

    return fn, [(torch.randn(3),)]


# Operators of others, and state.


@torch.library.custom_op("ferrodyn_features::double", mutates_args=())
def double(x: torch.Tensor) -> torch.Tensor:
    """A custom operator."""
    return x * 2


@double.register_fake
def _(x):
    return torch.empty_like(x)


@program
def custom_operator() -> Program:
    return (lambda x: double(torch.sin(x)) + 1), [(torch.randn(3),)]


@program
def rng_state() -> Program:
    def fn(x):
        state = torch.get_rng_state()
        a = torch.randn(3)
        torch.set_rng_state(state)
        return x + a + torch.randn(3)

    return fn, [(torch.randn(3),)]


@program
def profiler_context() -> Program:
    def fn(x):
        with torch.profiler.record_function("part"):
            return torch.sin(x) + 1

    return fn, [(torch.randn(3),)]


@program
def compiled_by_the_other() -> Program:
    inner = torch.compile(lambda x: torch.sin(x) + 1, backend="eager")
    return (lambda x: inner(x) * 2), [(torch.randn(3),)]


@program
def masks() -> Program:
    return (lambda x: x[x > 0].sum() + 1), [(torch.randn(5),)]


@program
def masks_captured() -> Program:
    torch._dynamo.config.capture_dynamic_output_shape_ops = True
    return (lambda x: x[x > 0].sum() + 1), [(torch.randn(5),), (torch.randn(5),)]


@program
def nonzero_and_unique_captured() -> Program:
    torch._dynamo.config.capture_dynamic_output_shape_ops = True

    def fn(x, classes):
        values, inverse = torch.unique(classes, return_inverse=True)
        return (x > 0).nonzero() * 2, values[inverse]

    return fn, [(torch.randn(4), torch.tensor([0, 1, 1, 2]))]


@program
def item_as_a_size() -> Program:
    torch._dynamo.config.capture_scalar_outputs = True

    def fn(t, x):
        n = t.item()
        torch._check(n >= 0)
        torch._check(n <= x.shape[0])
        return x[:n] * 2, torch.ones(n, 2)

    return fn, [(torch.tensor(n), torch.randn(8)) for n in (4, 6)]


@program
def branch_on_data() -> Program:
    def fn(x):
        if x.sum() > 0:
            return torch.sin(x)
        return torch.cos(x)

    return fn, [(torch.ones(3),)]


@program
def assertion_on_data() -> Program:
    def fn(x):
        assert (x > -10).all()
        return torch.sin(x)

    return fn, [(torch.ones(3),)]


@program
def autocast() -> Program:
    def fn(x):
        with torch.autocast("cpu", torch.bfloat16):
            y = x @ x
        return y.float() + 1

    return fn, [(grad(3, 3),)]


@program
def no_grad_region() -> Program:
    def fn(x):
        with torch.no_grad():
            y = torch.sin(x)
        return x * y

    return fn, [(grad(3),)]


@program
def context_manager_of_the_program() -> Program:
    @contextlib.contextmanager
    def scaled(out):
        out.append(1)
        yield 2
        out.append(3)

    def fn(x, out):
        with scaled(out) as n:
            return torch.sin(x) * n

    return fn, [(torch.randn(3), [])]
