"""What programs ask of torch's tracer, by decorators, options and callbacks, holds for Ferrodyn."""

from __future__ import annotations

import ferrodyn
import pytest
import torch
import torch._dynamo
from harness import Counting
from torch._dynamo.comptime import comptime
from torch.fx.experimental.symbolic_shapes import ConstraintViolationError
from torch.utils.checkpoint import checkpoint

pytestmark = [pytest.mark.own, pytest.mark.once]

X = torch.arange(6.0).reshape(2, 3)
SCALE = 1


def breaks(x):
    y = x + 1
    torch._dynamo.graph_break()
    return y * 2


def in_the_function(x):
    with torch._dynamo.error_on_graph_break(True):
        return breaks(x)


@torch._dynamo.error_on_graph_break(True)
def decorated(x):
    return breaks(x)


@torch._dynamo.error_on_graph_break(True)
def allowed_inside(x):
    with torch._dynamo.error_on_graph_break(False):
        return breaks(x)


@pytest.mark.parametrize("fn", [in_the_function, decorated])
def test_a_graph_break_is_an_error_where_the_program_says_so(fn):
    with pytest.raises(ferrodyn.exc.Unsupported, match="graph_break"):
        ferrodyn.compile(fn, backend="eager")(X)


def test_the_innermost_choice_holds():
    backend = Counting()
    assert torch.equal(ferrodyn.compile(allowed_inside, backend=backend)(X), breaks(X))
    assert backend.graphs == 2
    with pytest.raises(ferrodyn.exc.Unsupported):
        ferrodyn.compile(allowed_inside, backend="eager", fullgraph=True)(X)


def test_a_graph_break_is_an_error_around_the_call():
    compiled = ferrodyn.compile(breaks, backend="eager")
    with torch._dynamo.error_on_graph_break(True), pytest.raises(ferrodyn.exc.Unsupported):
        compiled(X)
    assert torch.equal(compiled(X), breaks(X))


def test_a_skipped_frame_runs_in_eager_mode_and_what_it_calls_does_not():
    def inner(x):
        return x.sin() + torch.compiler.is_compiling()

    def outer(x):
        y = x + torch.compiler.is_compiling()
        torch._dynamo.skip_frame()
        return inner(y)

    backend = Counting()
    found = ferrodyn.compile(outer, backend=backend)(X)
    assert torch.equal(found, X.sin() + 1) and backend.graphs == 1


def test_a_step_that_is_unsupported_breaks():
    def f(x):
        y = x + 1
        torch._dynamo.step_unsupported()
        return y * 2

    backend = Counting()
    assert torch.equal(ferrodyn.compile(f, backend=backend)(X), f(X))
    assert backend.graphs == 2


def test_a_forbidden_function_is_an_error():
    @torch._dynamo.forbid_in_graph
    def inner(x):
        return x * 2

    with pytest.raises(ferrodyn.exc.Unsupported, match="forbidden"):
        ferrodyn.compile(lambda x: inner(x) + 1, backend="eager")(X)


def test_callbacks_and_counters():
    seen = []
    handler = torch._dynamo.callback_handler
    start = torch._dynamo.on_compile_start(lambda arguments: seen.append("start"))
    end = torch._dynamo.on_compile_end(lambda arguments: seen.append("end"))
    counters = torch._dynamo.utils.counters
    counters.clear()
    try:
        compiled = ferrodyn.compile(breaks, backend="eager")
        compiled(X)
        compiled(X)
    finally:
        handler.remove_start_callback(start)
        handler.remove_end_callback(end)
    assert seen == ["start", "end"] * 2
    assert counters["stats"] == {"unique_graphs": 2, "calls_captured": 2}
    assert counters["frames"] == {"total": 2, "ok": 2}
    assert list(counters["graph_break"].values()) == [1]


def scaled(x):
    return x * SCALE


@pytest.mark.parametrize(
    ("keeps", "graphs"),
    [
        (torch.compiler.skip_all_guards_unsafe, 1),
        (torch.compiler.skip_guard_on_globals_unsafe, 1),
        (torch.compiler.keep_tensor_guards_unsafe, 1),
        (torch.compiler.keep_portable_guards_unsafe, 1),
        (torch.compiler.skip_guard_on_all_nn_modules_unsafe, 2),
        (lambda guards: [True for _ in guards], 2),
    ],
    ids=["none", "no globals", "tensors", "portable", "no modules", "all"],
)
def test_the_filter_decides_which_guards_are_kept(keeps, graphs, monkeypatch):
    backend = Counting()
    compiled = ferrodyn.compile(scaled, backend=backend, options={"guard_filter_fn": keeps})
    compiled(X)
    monkeypatch.setitem(globals(), "SCALE", 2)
    assert torch.equal(compiled(X), X * graphs)
    assert backend.graphs == graphs


def test_filters_that_look_at_modules():
    linear = torch.nn.Linear(3, 3)
    linear.shift = 1
    names = []

    def keeps(guards):
        names.extend(guard.name for guard in guards)
        return torch.compiler.skip_guard_on_inbuilt_nn_modules_unsafe(guards)

    backend = Counting()
    options = {"guard_filter_fn": keeps}
    compiled = ferrodyn.compile(
        lambda x: linear(x) + linear.shift, backend=backend, options=options
    )
    compiled(X)
    linear.shift = 2
    compiled(X)
    assert backend.graphs == 1 and "x" in names


def test_a_filter_that_fails_or_does_not_answer():
    def with_filter(keeps):
        return ferrodyn.compile(scaled, backend="eager", options={"guard_filter_fn": keeps})

    with pytest.raises(ValueError, match="answered for 0 of"):
        with_filter(lambda guards: [])(X)
    with pytest.raises(ZeroDivisionError):
        with_filter(lambda guards: 1 / 0)(X)


def needs_three(x):
    return x + torch.ones(3)


def asks(x):
    return x + 1 if x.shape[0] == 3 else x - 1


@pytest.mark.parametrize("fn", [needs_three, asks])
def test_a_size_marked_as_dynamic_that_is_one_number(fn):
    marked = torch.ones(3)
    torch._dynamo.mark_dynamic(marked, 0)
    compiled = ferrodyn.compile(fn, backend="eager")
    with pytest.raises(ConstraintViolationError, match=r"dimension 0 of `x`(.|\n)*return x \+"):
        compiled(marked)
    with torch._dynamo.config.patch(allow_ignore_mark_dynamic=True):
        assert torch.equal(compiled(marked), fn(marked))
    weakly = torch.ones(3)
    torch._dynamo.maybe_mark_dynamic(weakly, 0)
    assert torch.equal(compiled(weakly), fn(weakly))


def test_a_tensor_whose_address_is_guarded():
    tensor = torch.ones(3)
    torch._dynamo.mark_static_address(tensor, guard=True)
    backend = Counting()
    compiled = ferrodyn.compile(lambda x: x + 1, backend=backend)
    for x in (tensor, tensor, torch.ones(3)):
        compiled(x)
    assert backend.graphs == 2


def test_options_of_torchs_tracer_hold_while_they_are_set():
    backend = Counting()
    compiled = ferrodyn.compile(lambda x, n: x + len(n), backend=backend)
    with torch._dynamo.config.patch(disable=True):
        compiled(X, "a")
    assert backend.graphs == 0
    with torch._dynamo.config.patch(cache_size_limit=2):
        for n in ("a", "ab", "abc"):
            compiled(X, n)
    assert backend.graphs == 2
    compiled(X, "abcd")
    assert backend.graphs == 3
    with torch._dynamo.config.patch(error_on_recompile=True), pytest.raises(RuntimeError):
        compiled(X, "abcde")
    # An option of Ferrodyn's own that was set goes first.
    with torch._dynamo.config.patch(recompile_limit=1), ferrodyn.config.patch(recompile_limit=9):
        compiled(X, "abcdef")
    assert backend.graphs == 4


def test_code_of_one_function_is_reset():
    def f(x):
        return x + 1

    backend = Counting()
    compiled = ferrodyn.compile(f, backend=backend)
    compiled(X)
    torch._dynamo.reset_code(f.__code__)
    compiled(X)
    assert backend.graphs == 2


def test_a_function_whose_own_frame_is_disabled_is_not_captured_while_its_callees_are():
    def callee(x):
        return x + 10 * torch.compiler.is_compiling()

    def fn(x):
        return callee(x) + torch.compiler.is_compiling()

    class Holder:
        def method(self, x):
            return callee(x) + torch.compiler.is_compiling()

    backend = Counting()
    call = ferrodyn.compile(lambda f, x: f(x * 2), backend=backend)
    for plain in (fn, Holder().method):
        disabled = torch._dynamo.disable(plain, recursive=False)
        for _ in range(2):
            assert torch.equal(call(disabled, X), X * 2 + 10)
            assert torch.equal(call(plain, X), X * 2 + 11)


def test_one_graph_is_made_for_each_place_of_an_iterator():
    backend = Counting()
    fn = ferrodyn.compile(lambda x, it: x + next(it), backend=backend, fullgraph=True)
    for it in (iter(range(5)), iter([0, 1, 2, 3, 4])):
        assert [float(fn(torch.zeros(1), it)) for _ in range(2)] == [0, 1]
        assert next(it) == 2
        assert float(fn(torch.zeros(1), it)) == 3
    assert backend.graphs == 6


def test_an_overload_may_be_looked_up_first_in_a_compiled_function():
    with torch.library._scoped_library("ferrodyn_looked_up", "FRAGMENT") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")

        def fn(x):
            packet = torch.ops.ferrodyn_looked_up.twice
            return packet.default(x) + getattr(packet, "no_such_overload", 3)

        backend = Counting()
        compiled = ferrodyn.compile(fn, backend=backend, fullgraph=True)
        for x in (X, X + 1):
            assert torch.equal(compiled(x), x * 2 + 3)
        assert backend.graphs == 1


def test_a_function_may_be_marked_for_non_strict_tracing_where_it_is_called():
    def traced(x):
        torch._dynamo.graph_break()
        return x + 1

    def fn(x):
        return torch._dynamo.nonstrict_trace(traced)(x) * 2

    assert torch.equal(ferrodyn.compile(fn, backend="eager", fullgraph=True)(X), (X + 1) * 2)
    with pytest.raises(ferrodyn.exc.Unsupported):
        ferrodyn.compile(traced, backend="eager", fullgraph=True)(X)


def test_what_asks_torchs_tracer_something_breaks_no_graph():
    asked = []

    def fn(x):
        y = x * 2
        comptime.print_graph()
        comptime.assert_static(y.shape[0])
        comptime(lambda tracer: asked.append(tracer), lambda: asked.append(None))
        return y + 1

    compiled = ferrodyn.compile(fn, backend="eager", fullgraph=True)
    assert torch.equal(compiled(X), X * 2 + 1)
    assert asked == [None]


@pytest.mark.parametrize("requires_grad", [False, True])
def test_a_checkpoint_without_a_choice_is_captured_where_one_graph_is_asked_for(requires_grad):
    layer = torch.nn.Linear(3, 3)

    def fn(x):
        return checkpoint(layer, x * 2) + 1

    results = []
    for call in fn, ferrodyn.compile(fn, backend="eager", fullgraph=True):
        x = torch.ones(3, requires_grad=requires_grad)
        layer.zero_grad()
        with pytest.warns(UserWarning, match=r"torch\.utils\.checkpoint: .*use_reentrant"):
            found = call(x)
        # Without an argument that has gradients, the layer's are not recorded either.
        assert found.requires_grad == requires_grad
        if requires_grad:
            found.sum().backward()
        results.append((found.detach(), x.grad, layer.weight.grad))
    for of_eager, of_graph in zip(*results, strict=True):
        assert of_eager is of_graph or torch.equal(of_eager, of_graph)
