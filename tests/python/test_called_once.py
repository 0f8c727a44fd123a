"""A backend is called once for each graph, though nothing is known of it before its first one."""

from __future__ import annotations

import functools
import random

import ferrodyn
import pytest
import torch
from torch._dynamo.backends.registry import lookup_backend

pytestmark = pytest.mark.own


class Base:
    """A backend of the program's that counts."""

    def __init__(self):
        self.calls = 0


class Module(Base):
    """Gives the module back."""

    def __call__(self, gm, inputs):
        self.calls += 1
        return gm


class Forward(Base):
    """Gives its `forward` back, in one of two ways."""

    def __call__(self, gm, inputs):
        self.calls += 1
        if self.calls == 1:
            return gm.forward
        return gm


class Hidden(Base):
    """Gives the module back, which its code does not say."""

    def __call__(self, gm, inputs):
        self.calls += 1
        return [gm][0]


class Wrapping(Base):
    """Gives a function of its own."""

    def __call__(self, gm, inputs):
        self.calls += 1
        return functools.partial(gm.forward)


class Changing(Base):
    """Gives the module back, changed."""

    def __call__(self, gm, inputs):
        self.calls += 1
        gm.graph.lint()
        gm.recompile()
        return gm


class Compiling(Base):
    """Hands the graph to AOTAutograd."""

    def __call__(self, gm, inputs):
        self.calls += 1
        return lookup_backend("aot_eager")(gm, inputs)

    def compile(self, gm, inputs):
        return self(gm, inputs)


BACKENDS = [Module, Forward, Hidden, Wrapping, Changing, Compiling]


def floats(x, k):
    return x * k + 1


def sizes(x, k):
    return x.reshape(-1) * x.shape[0]


def numbers_read(x, k):
    return x * x.sum().item()


def drawn(x, k):
    return x * random.random()


def hooks(x, k):
    y = x * 2
    y.register_hook(lambda grad: grad * 3)
    return y.sum()


def backward(out):
    if out.requires_grad and out.dim() == 0:
        out.backward()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", [floats, sizes, numbers_read, drawn, hooks])
def test_the_first_graph(fn, backend):
    results = []
    for compiled in (fn, ferrodyn.compile(fn, backend=(used := backend()), dynamic=True)):
        torch.manual_seed(0)
        random.seed(0)
        x = torch.randn(3, 4, requires_grad=True)
        out = compiled(x, 2.5)
        backward(out)
        results.append((out, x.grad))
    torch.testing.assert_close(*results)
    assert used.calls == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_floats_that_change(backend):
    compiled = ferrodyn.compile(floats, backend=(used := backend()))
    for k in (0.5, 1.5, 2.5, 3.5):
        x = torch.randn(3)
        torch.testing.assert_close(compiled(x, k), floats(x, k))
    assert used.calls == 2


def test_bound_methods_and_plain_functions():
    one, calls = Compiling(), []

    def back(gm, inputs):
        calls.append(gm)
        return gm

    for backend in (one.compile, back, lambda gm, inputs: one(gm, inputs)):
        compiled = ferrodyn.compile(hooks, backend=backend)
        x = torch.randn(3, 4, requires_grad=True)
        compiled(x, 1).backward()
        torch.testing.assert_close(x.grad, torch.full_like(x, 6))
    assert (one.calls, len(calls)) == (2, 1)


def test_a_step_of_an_optimizer_below_an_unknown_compiler():
    """Its graph is the one of a compiler, the first one too."""
    net = torch.nn.Linear(3, 3)
    for parameter in net.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer = torch.optim.Adam(net.parameters())
    compiled = ferrodyn.compile(optimizer.step, backend=(used := Compiling()))
    for _ in range(3):
        compiled()
    assert used.calls == 1


OPTIMIZERS = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.1),
    "adam": lambda parameters: torch.optim.Adam(parameters, lr=0.1),
}


# A graph whose rate has to be a constant is tried with it as an input first.
@pytest.mark.parametrize(
    ("name", "backend", "most"),
    [("sgd", Compiling, 5), ("adam", Compiling, 2), ("sgd", Module, 2), ("sgd", Wrapping, 2)],
)
def test_a_schedule_that_counts_beside_the_step(name, backend, most):
    """What the schedule looks at has the frame translated again; the graph of the step stays."""
    nets, used = [], backend()
    for compiles in (None, used):
        torch.manual_seed(0)
        net = torch.nn.Linear(3, 3)
        optimizer = OPTIMIZERS[name](net.parameters())
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)

        def step(optimizer=optimizer, schedule=schedule):
            optimizer.step()
            schedule.step()

        compiled = ferrodyn.compile(step, backend=compiles) if compiles else step
        for _ in range(8):
            optimizer.zero_grad()
            net(torch.ones(2, 3)).sum().backward()
            compiled()
        nets.append((net.weight, net.bias, schedule.last_epoch))
    torch.testing.assert_close(*nets)
    assert used.calls <= most


def test_a_float_that_has_to_be_a_constant_is_one_alone():
    """AOTAutograd wants one of two floats as a constant; the other one may change."""

    def fn(x, a, b):
        return (x * a).add(x, alpha=b)

    compiled = ferrodyn.compile(fn, backend=(used := Compiling()))
    floats = [(1.5, 2.5), (2.5, 2.5), (3.5, 2.5), (4.5, 3.5), (5.5, 3.5), (6.5, 3.5)]
    for a, b in floats:
        x = torch.randn(3)
        torch.testing.assert_close(compiled(x, a, b), fn(x, a, b))
    assert used.calls == 4


def test_a_reset_forgets_which_floats_are_constants():
    def fn(x, a):
        return x.add(x, alpha=a)

    calls = []
    for _ in range(2):
        ferrodyn.reset()
        compiled = ferrodyn.compile(fn, backend=(used := Compiling()))
        for a in (0.5, 1.5, 2.5):
            x = torch.randn(3)
            torch.testing.assert_close(compiled(x, a), fn(x, a))
        calls.append(used.calls)
    assert calls[0] == calls[1]


class Scaled(torch.autograd.Function):
    """Numbers among the arguments, which the backward pass uses."""

    @staticmethod
    def forward(ctx, x, factor, rows):
        ctx.factor, ctx.rows = factor, rows
        return x.view(rows, -1).sum(0) * factor

    @staticmethod
    def backward(ctx, grad):
        return (grad * ctx.factor).expand(ctx.rows, -1).reshape(-1), None, None


@pytest.mark.parametrize("backend", [Module, Compiling])
def test_numbers_of_an_autograd_function(backend):
    def fn(x, factor, rows):
        return Scaled.apply(x, factor, rows).sum()

    compiled = ferrodyn.compile(fn, backend=(used := backend()))
    for factor, rows in [(0.5, 2), (1.5, 3), (2.5, 4), (3.5, 6)]:
        grads = []
        for call in (fn, compiled):
            x = torch.ones(12, requires_grad=True)
            call(x, factor, rows).backward()
            grads.append(x.grad)
        torch.testing.assert_close(*grads)
    assert used.calls == 2
