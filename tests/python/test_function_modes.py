"""Functions that are called while torch function modes are in force."""

import ferrodyn
import pytest
import torch
from torch.overrides import TorchFunctionMode


class Scaled(TorchFunctionMode):
    """Scales what `torch.add` gives, and counts what it sees."""

    def __init__(self, by):
        super().__init__()
        self.by = by
        self.seen = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen += 1
        result = func(*args, **(kwargs or {}))
        return result * self.by if func is torch.add else result


def body(x):
    y = torch.add(x, 1)
    y += x.shape[0]
    return torch.zeros(len(y)) + y


class Graphs:
    """A backend that keeps its graphs."""

    def __init__(self):
        self.codes = []

    def __call__(self, module, inputs):
        assert torch._C._len_torch_function_stack() == 0
        self.codes.append(module.code)
        return module.forward


def called(function, *modes):
    """What a call gives under modes, the outermost first, and how often each mode was asked."""
    for mode in modes:
        mode.__enter__()
    try:
        result = function(torch.arange(3.0))
    finally:
        for mode in reversed(modes):
            mode.__exit__(None, None, None)
    return result.tolist(), [mode.seen for mode in modes]


def test_a_mode_is_part_of_the_graph_and_is_not_asked_by_it():
    graphs = Graphs()
    compiled = ferrodyn.compile(body, backend=graphs)
    for _ in range(3):
        assert called(compiled, Scaled(2)) == called(body, Scaled(2))
    assert len(graphs.codes) == 1
    assert "torch.add" in graphs.codes[0]


def test_modes_of_one_class_share_a_graph_until_what_they_hold_differs():
    graphs = Graphs()
    compiled = ferrodyn.compile(body, backend=graphs)
    for by, count in [(2, 1), (2, 1), (3, 2), (3, 2)]:
        assert called(compiled, Scaled(by)) == called(body, Scaled(by))
        assert len(graphs.codes) == count


def test_the_stack_of_modes_is_guarded():
    graphs = Graphs()
    compiled = ferrodyn.compile(body, backend=graphs)
    for stack in [(), (2,), (2, 5), (2,), ()]:
        modes = [[Scaled(by) for by in stack] for _ in range(2)]
        assert called(compiled, *modes[0]) == called(body, *modes[1])
    assert len(graphs.codes) == 3


def test_a_mode_that_leaves_a_call_to_others_is_plain_python():
    class Leaves(Scaled):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return NotImplemented

    compiled = ferrodyn.compile(body, backend=Graphs())
    mode = Leaves(1)
    for function in body, compiled:
        with pytest.raises(TypeError, match="returned NotImplemented"):
            called(function, mode)


def test_modes_are_back_where_a_backend_raises():
    def fails(module, inputs):
        raise RuntimeError("no")

    compiled = ferrodyn.compile(body, backend=fails)
    mode = Scaled(1)
    with mode, pytest.raises(Exception, match="no"):
        try:
            compiled(torch.zeros(3))
        finally:
            assert torch.overrides._get_current_function_mode() is mode
    assert torch._C._len_torch_function_stack() == 0
