"""What a backend does not compile, though it did not fail, fails no program."""

import ferrodyn
import pytest
import torch
from ferrodyn import exc
from torch.fx.experimental.proxy_tensor import make_fx


def counting(backend):
    """A backend that counts the graphs that it compiles; and their operations, by graph."""
    graphs = []

    def compile_graph(gm, example_inputs):
        compiled = backend(gm, example_inputs)
        graphs.append([str(n.target) for n in gm.graph.nodes if n.op.startswith("call_")])
        return compiled

    return compile_graph, graphs


def fake_traced(gm, example_inputs):
    """A backend that runs the graph's generated code on fake tensors."""
    return make_fx(gm, tracing_mode="fake")(*example_inputs)


def interpreted(gm, example_inputs):
    """A backend that interprets a copy of the graph on fake tensors."""
    copy = torch.fx.GraphModule(gm, gm.graph.__deepcopy__({}))
    with torch._subclasses.FakeTensorMode(allow_non_fake_inputs=True) as mode:
        fakes = [mode.from_tensor(x) for x in example_inputs]
        torch.fx.Interpreter(copy).run(*fakes)
    return gm.forward


def losses():
    torch.manual_seed(0)
    log_probs = torch.randn(10, 4, 5).log_softmax(2)
    targets = torch.randint(1, 5, (4, 6))
    return log_probs, targets, torch.full((4,), 10), torch.tensor([6, 3, 2, 5])


def ctc(log_probs, targets, sizes, lengths):
    doubled = log_probs * 2
    loss = torch.nn.functional.ctc_loss(doubled, targets, sizes, lengths)
    return loss.sin() + 1


@pytest.mark.parametrize("backend", [fake_traced, interpreted])
def test_breaks_before_the_refused_operation(backend):
    compile_graph, graphs = counting(backend)
    compiled = ferrodyn.compile(ctc, backend=compile_graph)
    for _ in range(2):
        torch.testing.assert_close(compiled(*losses()), ctc(*losses()), rtol=0, atol=0)
    assert graphs == [["<built-in function mul>"], ["sin", "<built-in function add>"]]


def test_breaks_under_aot_eager():
    def called(log_probs, *others):
        return ctc(log_probs, *others) * log_probs.sum()

    log_probs, *others = losses()
    results = []
    for function in (called, ferrodyn.compile(called, backend="aot_eager")):
        leaf = log_probs.clone().requires_grad_()
        out = function(leaf, *others)
        out.backward()
        results.append((out.detach(), leaf.grad))
    torch.testing.assert_close(results[0], results[1], rtol=0, atol=0)


def test_says_which_operation_is_refused():
    compiled = ferrodyn.compile(ctc, backend="aot_eager", fullgraph=True)
    with pytest.raises(exc.Unsupported, match=r"torch\.nn\.functional\.ctc_loss") as caught:
        compiled(*losses())
    refused = torch._subclasses.fake_tensor.DynamicOutputShapeException
    assert isinstance(caught.value.__cause__, refused)
    assert caught.value.hints


def test_runs_in_eager_mode_where_the_operation_is_not_known(caplog):
    def refuses(gm, example_inputs):
        raise torch._subclasses.fake_tensor.DataDependentOutputException(
            torch.ops.aten.item.default
        )

    compiled = ferrodyn.compile(ctc, backend=refuses)
    torch.testing.assert_close(compiled(*losses()), ctc(*losses()), rtol=0, atol=0)
    assert "DataDependentOutputException" in caplog.text
    with pytest.raises(exc.BackendCompilerFailed):
        ferrodyn.compile(ctc, backend=refuses, fullgraph=True)(*losses())


def test_skip_frame_is_obeyed():
    def skips(gm, example_inputs):
        raise torch._dynamo.exc.SkipFrame("not this one")

    compiled = ferrodyn.compile(ctc, backend=skips)
    torch.testing.assert_close(compiled(*losses()), ctc(*losses()), rtol=0, atol=0)


def test_a_restart_that_the_backend_asks_for_is_made():
    from torch._dynamo.exc import TensorifyScalarRestartAnalysis

    calls = []

    def restarts(gm, example_inputs):
        calls.append(gm)
        if len(calls) == 1:
            raise TensorifyScalarRestartAnalysis
        return gm.forward

    x = torch.ones(3)
    assert ferrodyn.compile(lambda x: x + 1, backend=restarts)(x).equal(x + 1)
    assert len(calls) == 2
    assert calls[0] is not calls[1]


def test_other_exceptions_are_failures():
    def fails(gm, example_inputs):
        raise RuntimeError("no")

    with pytest.raises(exc.BackendCompilerFailed, match="no"):
        ferrodyn.compile(ctc, backend=fails)(*losses())


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.int64, torch.int32])
@pytest.mark.parametrize(
    "function",
    [
        lambda x, v: x + 0.5,
        lambda x, v: torch.full((3,), x) * 2,
        lambda x, v: v.narrow(0, x, 1) * 2 if not x.is_floating_point() else v * x,
        lambda x, v: v[x] + 1 if not x.is_floating_point() else v - x,
        lambda x, v: torch.linspace(x, 10.0, 5) * v,
    ],
)
def test_the_value_of_a_scalar_tensor_is_no_constant(dtype, function):
    compiled = ferrodyn.compile(function, backend="aot_eager")
    v = torch.arange(5.0)
    for value in (1, 3, 2):
        x = torch.tensor(value, dtype=dtype)
        torch.testing.assert_close(compiled(x, v), function(x, v), rtol=0, atol=0)


OUTSIDE = torch.arange(3.0)


@torch._dynamo.nonstrict_trace
def reads_outside(x):
    return x + OUTSIDE


def test_nonstrict_trace_may_read_tensors_from_outside():
    def called(x):
        return reads_outside(x * 2) + 1

    compile_graph, graphs = counting(torch._dynamo.lookup_backend("aot_eager"))
    x = torch.ones(3)
    compiled = ferrodyn.compile(called, backend=compile_graph)
    assert ferrodyn.compile(called, backend="aot_eager", fullgraph=True)(x).equal(called(x))
    assert compiled(x).equal(called(x))


def sizes_as_data(x):
    doubled = x * 2
    return torch._shape_as_tensor(doubled).sum() + doubled


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_what_raises_on_fake_tensors_runs_in_eager_mode(backend):
    """Fake tensors raise a plain RuntimeError here: they have no data, whatever class says so."""
    x = torch.ones(2, 3)
    compiled = ferrodyn.compile(sizes_as_data, backend=backend)
    for _ in range(2):
        torch.testing.assert_close(compiled(x), sizes_as_data(x), rtol=0, atol=0)


def test_an_aot_backend_whose_own_compiler_raises_fails():
    """Every operation works on fake tensors: the graph is not at fault, so nothing is refused."""

    def broken(gm, example_inputs):
        raise RuntimeError("no compiler here")

    backend = torch._dynamo.backends.common.aot_autograd(fw_compiler=broken)
    for compiler in (broken, backend):
        with pytest.raises(exc.BackendCompilerFailed, match="no compiler here"):
            ferrodyn.compile(lambda x: x + 1, backend=compiler)(torch.ones(2))


def fails_in_the_middle(gm, example_inputs):
    """A backend that runs the graph up to an addition."""

    class UpToAddition(torch.fx.Interpreter):
        def run_node(self, node):
            if node.name == "add":
                raise ZeroDivisionError(node.name)
            return super().run_node(node)

    UpToAddition(gm).run(*example_inputs)


def state_of_torch():
    state = [
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.is_autocast_enabled("cpu"),
        torch.get_autocast_dtype("cpu"),
        torch.autocast_increment_nesting(),
        torch._C._get_flash_sdp_enabled(),
        str(torch._C._dispatch_tls_local_include_set()),
        str(torch._C._dispatch_tls_local_exclude_set()),
    ]
    torch.autocast_decrement_nesting()
    return state


def in_contexts(x):
    math = torch.nn.attention.SDPBackend.MATH
    with (
        torch.autocast("cpu", dtype=torch.bfloat16),
        torch.inference_mode(),
        torch.nn.attention.sdpa_kernel(math),
    ):
        return x @ x + 1


def test_a_backend_that_fails_in_contexts_leaves_them():
    before = state_of_torch()
    with pytest.raises(exc.BackendCompilerFailed, match="ZeroDivisionError"):
        ferrodyn.compile(in_contexts, backend=fails_in_the_middle)(torch.ones(3, 3))
    assert state_of_torch() == before


def test_a_compiler_that_stops_in_inference_mode_leaves_torch_usable():
    # Its tracing refuses the view, as below torch.compile.
    @ferrodyn.compile(backend="aot_eager")
    def fn(x):
        with torch.inference_mode():
            x.view(-1).add_(1)
        return x + 1

    before = state_of_torch()
    with pytest.raises(exc.BackendCompilerFailed, match="inference tensor"):
        fn(torch.ones(3))
    assert state_of_torch() == before
    assert torch.equal(torch.ones(3) + 1, torch.full((3,), 2.0))
