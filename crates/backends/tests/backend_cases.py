"""Hand-made graphs for backends, and backends that misbehave."""

import random
import sys

import torch


def graph_module(with_parameter=True):
    """``(relu(x @ weight + bias), sum(x))``; the weight is an attribute or an input."""
    graph = torch.fx.Graph()
    x = graph.placeholder("L_x_")
    if with_parameter:
        weight = graph.get_attr("weight")
    else:
        weight = graph.placeholder("L_self_weight_")
    bias = graph.placeholder("L_bias_")
    product = graph.call_function(torch.matmul, (x, weight))
    total = graph.call_function(torch.add, (product, bias))
    relu = graph.call_function(torch.nn.functional.relu, (total,))
    summed = graph.call_method("sum", (x,), {"dim": 0})
    graph.output((relu, summed))
    torch.manual_seed(0)
    weight = torch.nn.Parameter(torch.randn(4, 4))
    root = {"weight": weight} if with_parameter else {}
    return torch.fx._lazy_graph_module._LazyGraphModule(root, graph), weight


def inputs(requires_grad, rows=3):
    torch.manual_seed(1)
    x = torch.randn(rows, 4, requires_grad=requires_grad)
    bias = torch.randn(4, requires_grad=requires_grad)
    return x, bias


def eager(x, weight, bias):
    return torch.nn.functional.relu(x @ weight + bias), x.sum(dim=0)


def check(fn, weight, args, in_graph, training):
    """Raises unless ``fn`` gives eager's values and gradients."""
    x, bias = (t.detach().clone().requires_grad_(training) for t in args)
    given = (x, bias) if in_graph else (x, weight, bias)
    expected = eager(x, weight, bias)
    with torch.set_grad_enabled(training):
        got = fn(*given)
    torch.testing.assert_close(tuple(got), expected)
    if training:
        leaves = (x, weight, bias)
        want = torch.autograd.grad([t.square().sum() for t in expected], leaves)
        have = torch.autograd.grad([t.square().sum() for t in got], leaves)
        torch.testing.assert_close(have, want)


SEEN = []


def passing(gm, example_inputs, **kwargs):
    SEEN.append((gm, example_inputs, kwargs, bool(torch.compiler.is_compiling())))
    return gm.forward


def raising(gm, example_inputs):
    raise ValueError("no good")


def interrupting(gm, example_inputs):
    raise KeyboardInterrupt


def indexing(gm, example_inputs):
    raise IndexError("dim out of range")


def returning_nothing(gm, example_inputs):
    return None


def messing(gm, example_inputs):
    torch.rand(3)
    random.random()
    torch._C._set_grad_enabled(not torch.is_grad_enabled())
    torch.set_default_dtype(torch.float64)
    torch.use_deterministic_algorithms(True, warn_only=True)
    raise ValueError


def state():
    return (
        torch.get_rng_state().tolist(),
        random.getstate(),
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.get_default_dtype(),
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        bool(torch.compiler.is_compiling()),
    )


def dynamo_is_imported():
    return "torch._dynamo" in sys.modules


def dynamic_module():
    """``x * n + 1`` reshaped to ``n`` rows, with ``n`` a size of ``x``."""
    graph = torch.fx.Graph()
    n = graph.placeholder("s0")
    x = graph.placeholder("L_x_")
    product = graph.call_function(torch.mul, (x, n))
    graph.output((graph.call_method("reshape", (product, n, -1)),))
    return torch.fx._lazy_graph_module._LazyGraphModule({}, graph)
