"""Hooks on saved tensors see what the program saves, and nothing of what compiles it."""

from __future__ import annotations

import harness
import torch
from torch.utils.checkpoint import checkpoint


def looks_at_values(graph, inputs):
    """Asks for the fake values of a graph, for which its operations run once more."""
    for node in graph.graph.nodes:
        node.meta.get("example_value")
    return graph.forward


def compiled(backend):
    layers = [torch.nn.RMSNorm(4), torch.nn.Linear(4, 4), torch.nn.Tanh()]
    return torch.nn.Sequential(*[harness.compile(layer, backend=backend) for layer in layers])


def gradient(model):
    x = torch.linspace(-1, 1, 12).reshape(3, 4).requires_grad_()
    checkpoint(model, x, use_reentrant=False).sum().backward()
    return x.grad


def test_layers_that_compile_in_a_checkpoint():
    import torch._dynamo

    for backend in (looks_at_values, "aot_eager"):
        model = compiled(backend)
        # The forward pass compiles, the backward pass does not: both save as many tensors.
        first = gradient(model)
        assert torch.equal(first, gradient(model))


def test_hooks_are_called_for_the_program_only():
    import torch._dynamo

    for backend in (looks_at_values, "aot_eager"):
        layer, seen = harness.compile(torch.nn.RMSNorm(4), backend=backend), []
        pack = lambda tensor: seen.append(type(tensor)) or tensor
        counts = []
        for _ in range(2):
            seen.clear()
            with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
                layer(torch.ones(3, 4, requires_grad=True))
            counts.append(len(seen))
        assert counts[0] == counts[1]


def test_hooks_are_refused_in_one_graph():
    message = torch._C._autograd._saved_tensors_hooks_get_disabled_error_message

    def fn(x):
        with torch.autograd.graph.disable_saved_tensors_hooks("none here"):
            return x.sin() * 2

    for backend in ("eager", "aot_eager"):
        call = harness.compile(fn, backend=backend, fullgraph=True)
        grads = []
        for f in (fn, call, call):
            x = torch.ones(2, requires_grad=True)
            f(x).sum().backward()
            grads.append(x.grad)
            assert message() is None
        assert torch.equal(grads[0], grads[1])
        assert torch.equal(grads[0], grads[2])
