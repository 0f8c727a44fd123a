"""Backends that give back the graph module itself: what raises in it is the program's to handle."""

from __future__ import annotations

import harness
import pytest
import torch

if not harness.REFERENCE:
    import ferrodyn
pytestmark = pytest.mark.own

X = torch.arange(12.0).view(3, 4)


def given_back(graph, inputs):
    return graph


def fn(x, i):
    y = x * 2
    torch.rand(2)
    y[0] = 5
    try:
        return y.index_select(0, i) * 2
    except IndexError:
        return y


def test_the_handler_is_reached():
    compiled = ferrodyn.compile(fn, backend=given_back)
    for index in (1, 7, 2):
        at = torch.tensor([index])
        torch.manual_seed(0)
        expected, then = fn(X, at), torch.rand(1)
        torch.manual_seed(0)
        assert torch.equal(compiled(X, at), expected)
        assert torch.equal(torch.rand(1), then)


def test_a_number_may_be_negative():
    def store(x, i):
        n = i.item()
        y = x.clone()
        y[:, :n] += 1
        return y * 2

    with ferrodyn.config.patch(capture_scalar_outputs=True):
        compiled = ferrodyn.compile(store, backend=given_back)
        for number in (2, -1, 0, 9, -9):
            n = torch.tensor(number)
            assert torch.equal(compiled(X, n), store(X, n)), number


def test_hooks_of_the_module_are_called():
    calls = []

    def hooked(graph, inputs):
        graph.register_forward_hook(lambda module, args, result: calls.append(len(args)))
        return graph

    compiled = ferrodyn.compile(fn, backend=hooked)
    assert torch.equal(compiled(X, torch.tensor([1])), fn(X, torch.tensor([1])))
    assert calls == [2]
