"""Guards of large models, which are planned in other threads while the backend runs."""

from __future__ import annotations

import os
import warnings

import harness
import pytest
import torch

if not harness.REFERENCE:
    import ferrodyn
pytestmark = pytest.mark.own


class Model(torch.nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(2, 2) for _ in range(layers))
        self.scales = {i: 1.0 for i in range(layers)}

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = torch.sigmoid(layer(x)) * self.scales[i]
        return x


def counting():
    calls = []

    def backend(graph, inputs):
        calls.append(len(graph.graph.nodes))
        return graph.forward

    return backend, calls


@pytest.fixture
def x():
    return torch.randn(3, 2)


def test_each_guard_of_a_large_set_is_checked(x):
    model = Model(200)
    backend, calls = counting()
    compiled = ferrodyn.compile(lambda x: model(x), backend=backend)
    for _ in range(3):
        assert torch.equal(compiled(x), model(x))
    assert len(calls) == 1
    for i in [0, 99, 199]:
        model.scales[i] = 2.0 + i
        for _ in range(2):
            assert torch.equal(compiled(x), model(x))
    model.layers[150].weight = torch.nn.Parameter(torch.randn(2, 2))
    assert torch.equal(compiled(x), model(x))


def test_a_backend_may_fail_meanwhile(x):
    model = Model(200)

    def failing(graph, inputs):
        raise ValueError("not today")

    with pytest.raises(ferrodyn.exc.BackendCompilerFailed, match="not today"):
        ferrodyn.compile(lambda x: model(x), backend=failing)(x)
    backend, calls = counting()
    compiled = ferrodyn.compile(lambda x: model(x), backend=backend)
    assert torch.equal(compiled(x), model(x))
    assert len(calls) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_has_threads_of_its_own(x):
    first, second = Model(200), Model(201)
    compiled = ferrodyn.compile(lambda x: first(x), backend=counting()[0])
    assert torch.equal(compiled(x), first(x))
    with warnings.catch_warnings():
        # A process with threads is forked: that is the point.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        torch.set_num_threads(1)
        backend, calls = counting()
        done = ferrodyn.compile(lambda x: second(x), backend=backend)(x)
        os._exit(0 if len(calls) == 1 and done.shape == x.shape else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
