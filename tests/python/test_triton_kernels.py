"""Launches of the program's Triton kernels are nodes of torch's operator for them.

Here without a GPU: the graphs, and what they compute where Triton's interpreter runs the kernels.
`test_cuda` runs them on a GPU.
"""

from __future__ import annotations

import sys
from typing import Any

import harness
import pytest
import torch

pytest.importorskip("triton")

import triton_programs as programs

pytestmark = pytest.mark.own


@pytest.fixture(autouse=True)
def _gpu_is_said_to_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch.utils import _triton

    monkeypatch.setattr(_triton, "has_triton", lambda *args, **kwargs: True)


def launches(function: Any, *inputs: torch.Tensor, **choices: Any) -> list[dict[str, Any]]:
    """What the nodes of kernels are given in the graph of a function, which is not run.

    A backend that is not known yet is handed the graph once more when it gives something else.
    """
    graphs = []

    def backend(graph: torch.fx.GraphModule, examples: list[Any]) -> Any:
        graphs.append(graph)
        (output,) = next(iter(reversed(graph.graph.nodes))).args
        return lambda *inputs: [torch.zeros(()) for _ in output]

    harness.compile(function, backend=backend, fullgraph=True, **choices)(*inputs)
    graph = graphs[-1]
    operator = torch.ops.higher_order.triton_kernel_wrapper_mutation
    return [dict(node.kwargs) for node in graph.graph.nodes if node.target is operator]


def kernel_and_constants(launch: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    from torch._higher_order_ops.triton_kernel_wrap import kernel_side_table

    constants = kernel_side_table.get_constant_args(launch["constant_args_idx"])
    return kernel_side_table.get_kernel(launch["kernel_idx"]), constants


@pytest.mark.parametrize("function", programs.WHOLE, ids=lambda f: f.__name__)
def test_launches_are_in_the_graph(function):
    expected = 2 if function is programs.twice else 1
    assert len(launches(function, torch.randn(1000), torch.randn(1000))) == expected


def test_what_a_node_is_given():
    (launch,) = launches(programs.between_operations, torch.randn(1000), torch.randn(1000))
    kernel, constants = kernel_and_constants(launch)
    assert kernel is programs.added
    assert launch["grid"] == [(4, 1, 1)]
    assert constants == {"count": 1000, "BLOCK": 256}
    assert {name: node.name for name, node in launch["kwargs"].items()} == {
        "x": "mul",
        "y": "y",
        "out": "empty_like",
    }


def test_choices_of_a_launch_are_a_configuration():
    (launch,) = launches(programs.with_choices, torch.randn(1000), torch.randn(1000))
    kernel, constants = kernel_and_constants(launch)
    assert (kernel.fn, [config.num_warps for config in kernel.configs]) == (programs.added, [8])
    assert launch["grid"] == [(8, 1, 1)]
    assert constants == {"count": 1000, "BLOCK": 128}


def test_each_configuration_has_a_grid():
    (launch,) = launches(programs.tuned, torch.randn(1000), torch.randn(1000))
    kernel, constants = kernel_and_constants(launch)
    assert kernel is programs.scaled
    assert launch["grid"] == [(16, 1, 1), (8, 1, 1)]
    assert constants == {"count": 1000, "factor": 2.5}


def test_heuristics_are_followed():
    for count, block in (1000, 64), (3000, 256):
        (launch,) = launches(programs.by_heuristics, torch.randn(count), torch.randn(count))
        kernel, constants = kernel_and_constants(launch)
        assert kernel is programs.copied.fn
        assert constants == {"count": count, "BLOCK": block}


@pytest.mark.parametrize("function", [programs.between_operations, programs.tuned])
def test_sizes_are_arguments(function):
    (launch,) = launches(function, torch.randn(1000), torch.randn(1000), dynamic=True)
    _, constants = kernel_and_constants(launch)
    assert "count" not in constants
    assert isinstance(launch["kwargs"]["count"], torch.fx.Node)
    assert all(isinstance(size[0], torch.fx.Node) for size in launch["grid"])


def test_hooks_of_a_tuner_are_left_to_python():
    with pytest.raises(Exception, match="a Triton kernel whose tuner has hooks"):
        launches(programs.with_hook, torch.randn(1000))


def test_a_kernel_that_is_only_compiled_is_not_launched():
    with pytest.raises(Exception, match="a Triton kernel that is compiled without being launched"):
        launches(programs.compiled_only, torch.randn(1000))


class Interpreted:
    """A kernel that Triton's interpreter runs, in the first configuration of its tuner."""

    def __init__(self, kernel: Any) -> None:
        from triton.runtime.interpreter import InterpretedFunction

        self.configs = getattr(kernel, "configs", None)
        self.fn = getattr(kernel, "fn", kernel) if self.configs else kernel
        self.arg_names = kernel.arg_names
        self._chosen = self.configs[0].kwargs if self.configs else {}
        self._interpreted = InterpretedFunction(self.fn.fn)

    def __getitem__(self, grid: Any) -> Any:
        def launch(*args: Any, num_warps: int = 4, **kwargs: Any) -> None:
            self._interpreted[grid](*args, **{**self._chosen, **kwargs})

        return launch


class WithHeuristics(Interpreted):
    """The same of a kernel below `triton.heuristics`."""

    def __init__(self, kernel: Any) -> None:
        super().__init__(kernel.fn)
        self._values = kernel.values

    def __getitem__(self, grid: Any) -> Any:
        def launch(*args: Any, **kwargs: Any) -> None:
            given = dict(zip(self.arg_names, args, strict=False))
            for name, value in self._values.items():
                kwargs[name] = value({**given, **kwargs})
            super(WithHeuristics, self).__getitem__(grid)(*args, **kwargs)

        return launch


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("function", programs.WHOLE, ids=lambda f: f.__name__)
def test_graphs_compute_what_the_program_does(function, backend, dynamic, monkeypatch):
    from torch._higher_order_ops.triton_kernel_wrap import kernel_side_table

    in_table = kernel_side_table.get_kernel

    def runs(index: int) -> Any:
        running = sys._getframe(1).f_code.co_name == "triton_kernel_wrapper_mutation_dense"
        return Interpreted(in_table(index)) if running else in_table(index)

    compiled = harness.compile(function, backend=backend, dynamic=dynamic, fullgraph=True)
    monkeypatch.setattr(kernel_side_table, "get_kernel", runs)
    for count in (1000, 1000, 3001):
        inputs = [torch.randn(count), torch.randn(count)]
        others = [tensor.clone() for tensor in inputs]
        with monkeypatch.context() as eager:
            for name in ("added", "scaled"):
                eager.setattr(programs, name, Interpreted(getattr(programs, name)))
            eager.setattr(programs, "copied", WithHeuristics(programs.copied))
            expected = function(*inputs)
        torch.testing.assert_close(compiled(*others), expected)
        torch.testing.assert_close(others, inputs)
