"""What a compiler has made of a graph serves a recompilation of the code that comes to it again."""

from __future__ import annotations

import gc
import weakref

import harness
import pytest
import torch

if not harness.REFERENCE:
    import ferrodyn
pytestmark = pytest.mark.own


@pytest.fixture
def compilations(monkeypatch):
    from torch._dynamo.backends import common

    calls = []
    compile_graph = common.aot_module_simplified

    def counted(*args, **kwargs):
        calls.append(args[0])
        return compile_graph(*args, **kwargs)

    monkeypatch.setattr(common, "aot_module_simplified", counted)
    return calls


class Logging(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.calls = 0
        self.logged = []

    def forward(self, x):
        self.calls += 1
        if self.calls % 3 == 0:
            self.logged.append(self.calls)
        return self.linear(x).relu()


def test_a_counter_has_the_same_graph_compiled_once(compilations):
    model = Logging()
    compiled = ferrodyn.compile(model, backend="aot_eager")
    x = torch.randn(2, 4)
    for _ in range(7):
        expected = model.linear(x).relu()
        y = compiled(x)
        assert torch.equal(y, expected)
        y.sum().backward()
    assert (model.calls, model.logged) == (7, [3, 6])
    assert len(compilations) == 1
    # What requires gradients is another graph for a compiler.
    with torch.no_grad():
        compiled(x)
    assert len(compilations) == 2
    ferrodyn.reset()
    compiled(x)
    assert len(compilations) == 3


def test_modules_of_a_class_keep_their_parameters(compilations):
    x = torch.randn(2, 4)
    models = [Logging() for _ in range(3)]
    for model in models:
        y = ferrodyn.compile(model, backend="aot_eager")(x)
        assert torch.equal(y, model.linear(x).relu())
        y.sum().backward()
        gradient, model.linear.weight.grad = model.linear.weight.grad, None
        model.linear(x).relu().sum().backward()
        assert torch.equal(gradient, model.linear.weight.grad)
    # The parameters of one module are the same in each call; those of several are not.
    assert len(compilations) == 2
    gone = weakref.ref(models[0].linear.weight)
    del models, model, y, gradient
    gc.collect()
    assert gone() is None


def scaled(x, factors):
    return x * factors["scale"] + factors.get("shift", 0.0)


def test_another_constant_is_another_graph(compilations):
    compiled = ferrodyn.compile(scaled, backend="aot_eager", dynamic=False)
    x = torch.ones(3)
    for factors in ({"scale": 2}, {"scale": 3}, {"scale": 2, "shift": 1.0}, {"scale": 2, "a": 0}):
        assert torch.equal(compiled(x, factors), scaled(x, factors))
    assert len(compilations) == 3


@pytest.mark.once
def test_frozen_parameters_serve_one_module():
    from torch._inductor import config

    x = torch.randn(2, 4)
    with config.patch(freezing=True), torch.no_grad():
        for model in [Logging().eval(), Logging().eval()]:
            compiled = ferrodyn.compile(model)
            torch.testing.assert_close(compiled(x), model.linear(x).relu())
