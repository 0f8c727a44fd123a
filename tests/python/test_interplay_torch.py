"""Compiled functions in and around torch's own transformations."""

# ruff: noqa: E501
from __future__ import annotations

import contextlib
import threading

import harness
import pytest
import torch
from interplay import Net, X, c

if not harness.REFERENCE:
    import ferrodyn
pytestmark = pytest.mark.own


def f_simple(x):
    return torch.sin(x) * 2 + 1


def test_torch_compile_around_and_inside():
    inner = c(f_simple)

    def outer(x):
        return inner(x) + 1

    around = torch.compile(outer, backend="eager")
    assert torch.equal(around(X), f_simple(X) + 1)
    assert torch.equal(around(X), f_simple(X) + 1)
    theirs = torch.compile(f_simple, backend="eager")
    ours = c(lambda x: theirs(x) + 1)
    for _ in range(2):
        assert torch.equal(ours(X), f_simple(X) + 1)
    both = torch.compile(c(f_simple), backend="eager")
    assert torch.equal(both(X), f_simple(X))
    other = c(torch.compile(f_simple, backend="eager"))
    assert torch.equal(other(X), f_simple(X))
    torch._dynamo.reset()
    assert torch.equal(ours(X), f_simple(X) + 1)


def test_torch_compile_in_another_thread():
    # This thread enters our region while torch compiles in the other one, so that both hooks are
    # installed, ours on top. Then the other one calls a function of ours.
    inside, installed, called = (threading.Lock() for _ in range(3))
    for lock in (inside, installed, called):
        lock.acquire()

    @ferrodyn.disable
    def meet():
        installed.release()
        assert called.acquire(timeout=60)

    def breaks(x):
        y = x + 1
        meet()
        return y * 2

    inner = c(lambda x: breaks_alone(x * 3) - 1)

    @ferrodyn.disable
    def nothing():
        pass

    def breaks_alone(x):
        y = x + 1
        nothing()
        return y * 2

    assert torch.equal(inner(X), (X * 3 + 1) * 2 - 1)

    def outer(x):
        y = x + 1
        inside.release()
        installed.acquire()
        return inner(y)

    def other():
        try:
            results.append(torch.compile(outer, backend="eager")(X))
        except Exception as error:
            results.append(error)
        finally:
            inside.release()
            called.release()

    results = []
    ours = c(breaks)
    thread = threading.Thread(target=other)
    thread.start()
    assert inside.acquire(timeout=60)
    assert not results
    assert torch.equal(ours(X), (X + 1) * 2)
    thread.join(60)
    assert len(results) == 1
    assert torch.equal(results[0], (X * 3 + 4) * 2 - 1)


def test_torch_compile_module():
    net = Net().eval()
    x = torch.randn(4, 3)
    want = net(x)
    assert torch.equal(c(torch.compile(net, backend="eager"))(x), want)
    assert torch.equal(torch.compile(c(net), backend="eager")(x), want)
    net.compile(backend="eager")
    assert torch.equal(net(x), want)
    assert torch.equal(c(net)(x), want)


def test_jit_trace():
    with pytest.warns():
        traced = torch.jit.trace(c(f_simple), X)
    assert torch.equal(traced(X + 1), f_simple(X + 1))
    with contextlib.suppress(Exception):
        torch.jit.script(c(f_simple))


def test_export():
    class M(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = c(f_simple)

        def forward(self, x):
            return self.inner(x) + 1

    program = torch.export.export(M(), (X,), strict=False)
    assert torch.equal(program.module()(X + 1), f_simple(X + 1) + 1)


def test_symbolic_trace():
    inner = c(f_simple)
    traced = torch.fx.symbolic_trace(lambda x: inner(x) + 1)
    assert torch.equal(traced(X + 1), f_simple(X + 1) + 1)


def test_make_fx():
    from torch.fx.experimental.proxy_tensor import make_fx

    compiled = c(f_simple)
    compiled(X)
    traced = make_fx(compiled)(X)
    assert torch.equal(traced(X + 1), f_simple(X + 1))
    traced = make_fx(c(lambda x: torch.cos(x)), tracing_mode="symbolic")(X)
    assert torch.equal(traced(X + 1), torch.cos(X + 1))


def test_functional_transforms():
    compiled = c(f_simple)
    compiled(X)
    batch = torch.stack([X, X + 1])
    assert torch.equal(torch.func.vmap(compiled)(batch), f_simple(batch))
    for f in (compiled, f_simple):
        grads = torch.func.grad(lambda x, f=f: f(x).sum())(X)
        assert torch.allclose(grads, torch.cos(X) * 2)
    assert torch.allclose(torch.func.jacrev(compiled)(X), torch.diag(torch.cos(X) * 2))
    assert torch.allclose(torch.func.jacfwd(compiled)(X), torch.diag(torch.cos(X) * 2))
    inside = c(lambda x: torch.func.vmap(f_simple)(x))
    assert torch.equal(inside(batch), f_simple(batch))
    inside = c(lambda x: torch.func.grad(lambda v: f_simple(v).sum())(x))
    assert torch.allclose(inside(X), torch.cos(X) * 2)
    assert torch.equal(compiled(X), f_simple(X))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_functional_transforms_have_levels(backend):
    def f(a):
        return a * 3 if (a * 2).requires_grad else a * 5

    def inner(f):
        return torch.func.grad(lambda a: f(a).sum())(X)

    def outer(f):
        return torch.func.grad(lambda a: torch.func.grad(lambda b: (f(a) * b).sum())(X).sum())(X)

    compiled = ferrodyn.compile(f, backend=backend)
    for call in (inner, outer, inner, lambda f: f(X)):
        assert torch.equal(call(compiled), call(f))
    for call in (
        lambda f: torch.func.vmap(f)(torch.ones(2, 3)),
        lambda f: torch.func.vmap(torch.func.vmap(f))(torch.ones(2, 2, 3)),
        lambda f: torch.func.jvp(f, (X,), (X + 1,))[1],
    ):
        ferrodyn.reset()
        assert torch.equal(call(compiled), call(f))


def test_saved_tensor_hooks_that_torchs_tracer_builds_in():
    weight = torch.ones(3, requires_grad=True)
    compiled = ferrodyn.compile(lambda x: x * weight * weight, backend="aot_eager")
    pack = torch.fx.symbolic_trace(lambda t: t * 2)
    unpack = torch.fx.symbolic_trace(lambda t: t / 2)
    hooks = torch.autograd.graph.saved_tensors_hooks
    with hooks(pack, unpack):
        compiled(X)
        with ferrodyn.config.patch(error_on_recompile=True):
            compiled(X)
    with ferrodyn.config.patch(error_on_recompile=True):
        with pytest.raises(ferrodyn.exc.RecompileError, match="saved_tensors"):
            compiled(X)
        with hooks(unpack, pack), pytest.raises(ferrodyn.exc.RecompileError):
            compiled(X)
    # Hooks that are no graphs are the engine's: they work as they do in plain Python.
    packed = []
    plain = ferrodyn.compile(lambda x: x * weight, backend="aot_eager")
    plain(X)
    with (
        ferrodyn.config.patch(error_on_recompile=True),
        hooks(lambda t: packed.append(t) or t, lambda t: t),
    ):
        plain(X)
    assert packed


redispatch = getattr(torch.overrides, "redispatch_function", None)


@pytest.mark.skipif(redispatch is None, reason="of newer versions of torch")
@pytest.mark.parametrize("breaks", [False, True])
def test_a_level_of_torch_function_is_skipped_by_what_runs_below(breaks):
    class Asked(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args, kwargs=None):
            return redispatch(func, types, args, kwargs or {})

    def add(a, b):
        if breaks:
            torch._dynamo.graph_break()
        if torch.overrides.has_torch_function((a, b)):
            return torch.overrides.handle_torch_function(add, (a, b), a, b)
        return a + b

    compiled = ferrodyn.compile(lambda a, b: add(a, b) * 2, backend="eager")
    x = torch.ones(3).as_subclass(Asked)
    for _ in range(2):
        assert torch.equal(compiled(x, x), torch.full((3,), 4.0))
    assert not torch._C._peek_should_skip_torch_function()


def test_saved_tensor_hooks_see_only_what_the_program_saves():
    def looking(gm, inputs):
        nodes = [node for node in gm.graph.nodes if node.op.startswith("call")]
        assert all("example_value" in node.meta for node in nodes)
        return gm.forward

    packed = []
    hooks = torch.autograd.graph.saved_tensors_hooks
    compiled = ferrodyn.compile(lambda x, y: torch.special.xlog1py(x * y, y), backend=looking)
    x = torch.ones(3, requires_grad=True)
    with hooks(lambda t: packed.append(t) or t, lambda t: t):
        compiled(x, X)
        compiled_packs = len(packed)
        torch.special.xlog1py(x * X, X)
    assert compiled_packs == len(packed) - compiled_packs


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_values_that_plain_python_reads_are_right_below_any_backend(backend):
    def f(x):
        pair = torch.tensor([x.sum().detach(), 2.0])
        assert x.max() < 10, "too large"
        return x * pair.sum()

    compiled = ferrodyn.compile(f, backend=backend)
    for x in (X, X + 1):
        assert torch.equal(compiled(x), f(x))
    with pytest.raises(AssertionError, match="too large"):
        compiled(X + 10)


def test_a_leaf_made_for_a_compiler_keeps_its_gradient():
    def f(x):
        leaf = torch.ones(3, requires_grad=True)
        return leaf, (leaf * x).sum()

    for backend in ("eager", "aot_eager"):
        leaf, out = ferrodyn.compile(f, backend=backend)(X)
        out.backward()
        assert leaf.is_leaf and torch.equal(leaf.grad, X), backend


class ReadsAGlobal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * OUTSIDE

    @staticmethod
    def backward(ctx, grad):
        return grad * OUTSIDE


OUTSIDE = torch.full((3,), 2.0)


@pytest.mark.parametrize("known", [True, False])
def test_functions_that_read_other_tensors_are_not_for_compilers(known):
    """A compiler that is found out to be one, by its error, gets the graph without them."""
    backend = (
        "aot_eager" if known else lambda *args: torch._dynamo.lookup_backend("aot_eager")(*args)
    )
    compiled = ferrodyn.compile(lambda x: ReadsAGlobal.apply(x + 1) * 2, backend=backend)
    x = X.clone().requires_grad_()
    compiled(x).sum().backward()
    assert torch.equal(x.grad, torch.full((3,), 4.0))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_backward_hooks_of_modules(backend):
    log = []
    net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
    net.register_full_backward_hook(lambda *args: log.append("outer"))
    net[0].register_full_backward_hook(lambda *args: log.append("inner"))
    net[0].register_full_backward_pre_hook(lambda *args: log.append("before"))
    x = X.clone().requires_grad_()
    ferrodyn.compile(lambda x: net(x) * 2, backend=backend)(x).sum().backward()
    assert log == ["before", "inner", "outer"]


def test_compilers_do_not_get_recurrent_layers():
    """They would take them apart into the operations of each step."""
    lstm = torch.nn.LSTM(3, 2)
    compiled = ferrodyn.compile(lambda x: lstm(x * 2)[0] + 1, backend="aot_eager")
    x = torch.ones(4, 1, 3)
    with harness.captured_logs("graph_breaks") as records:
        assert torch.equal(compiled(x), lstm(x * 2)[0] + 1)
    assert "torch.lstm" in records[0][1]


def test_functions_that_are_kept_out_of_graphs():
    recorder = harness.Recorder()

    def f(x):
        return torch.sub(x + 1, x) * 2

    torch._dynamo.disallow_in_graph(torch.sub)
    try:
        assert torch.equal(ferrodyn.compile(f, backend=recorder)(X), f(X))
        assert recorder.ops() == [1, 1]
    finally:
        torch.compiler.allow_in_graph(torch.sub)
    ferrodyn.reset()
    assert torch.equal(ferrodyn.compile(f, backend=recorder)(X), f(X))
    assert recorder.ops() == [1, 1, 3]


def test_fake_tensors_and_modes():
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils._python_dispatch import TorchDispatchMode

    compiled = c(f_simple)
    compiled(X)
    with FakeTensorMode() as mode:
        fake = mode.from_tensor(X)
        assert compiled(fake).shape == X.shape and type(compiled(fake)) is type(fake)

    seen = []

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, f, types, args=(), kwargs=None):
            seen.append(f)
            return f(*args, **(kwargs or {}))

    with Log():
        assert torch.equal(compiled(X), f_simple(X))
    assert seen
    assert torch.equal(compiled(X), f_simple(X))


def test_checkpoint_and_backward():
    from torch.utils.checkpoint import checkpoint

    x = X.clone().requires_grad_()
    y = X.clone().requires_grad_()
    checkpoint(c(f_simple), x, use_reentrant=False).sum().backward()
    f_simple(y).sum().backward()
    assert torch.equal(x.grad, y.grad)
    compiled = c(lambda v: checkpoint(f_simple, v, use_reentrant=False))
    z = X.clone().requires_grad_()
    compiled(z).sum().backward()
    assert torch.equal(z.grad, y.grad)


def test_hooks_of_tensors_and_autograd():
    seen = []
    x = X.clone().requires_grad_()
    x.register_hook(lambda g: seen.append(1))
    compiled = c(lambda v: (v * 2).sum())
    compiled(x).backward()
    assert seen == [1]

    inner = c(lambda v: v * 3)

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx, v):
            return inner(v)

        @staticmethod
        def backward(ctx, g):
            return inner(g)

    y = X.clone().requires_grad_()
    Function.apply(y).sum().backward()
    assert torch.equal(y.grad, torch.full((3,), 3.0))
    z = X.clone().requires_grad_()
    z.register_hook(lambda g: inner(g))
    compiled(z).backward()
    assert torch.equal(z.grad, torch.full((3,), 6.0))


def test_default_device_that_a_context_takes_away():
    """Leaving a device context ends the default that was set inside it; a variable still names it."""
    from torch.utils import _device

    modes = torch.overrides._get_current_function_mode_stack
    was = _device.CURRENT_DEVICE

    def f():
        return torch.ones(2).device.type

    compiled = c(f)
    try:
        for _ in range(2):
            with torch.device("cpu"):
                torch.set_default_device("meta")
                assert compiled() == f()
            assert compiled() == f()
            torch.set_default_device(None)
            assert compiled() == f()
    finally:
        while modes():
            torch._C._pop_torch_function_stack()
        torch._GLOBAL_DEVICE_CONTEXT.__dict__.clear()
        _device.CURRENT_DEVICE = was


def test_stances():
    """What is compiled goes on to be used; what is not, is not compiled, or is an error."""
    recorder = harness.Recorder()
    compiled = ferrodyn.compile(lambda x: x + 1, backend=recorder)
    with torch.compiler.set_stance("force_eager"):
        assert torch.equal(compiled(X), X + 1)
    assert not recorder.graphs
    compiled(X)
    with torch.compiler.set_stance("eager_on_recompile"):
        assert torch.equal(compiled(X.int()), X.int() + 1)
    with torch.compiler.set_stance("fail_on_recompile"):
        compiled(X)
        with pytest.raises(ferrodyn.exc.RecompileError, match="set_stance"):
            compiled(X.int())
    assert len(recorder.graphs) == 1
    compiled(X.int())
    assert len(recorder.graphs) == 2


def test_options_of_torchs_tracer():
    """They are taken, inside and outside, and change nothing."""
    recorder = harness.Recorder()
    dynamo = torch._dynamo

    @dynamo.error_on_graph_break(False)
    @dynamo.patch_dynamo_config(capture_scalar_outputs=True)
    def helper(x):
        return x * 2

    def f(x):
        dynamo.mark_static(x)
        with dynamo.patch_dynamo_config(verbose=True), dynamo.error_on_graph_break(True):
            y = helper(x) + 1
        return y

    options = {"guard_filter_fn": torch.compiler.skip_guard_on_globals_unsafe}
    compiled = ferrodyn.compile(f, backend=recorder, fullgraph=True, options=options)
    assert torch.equal(compiled(X), X * 2 + 1)
    assert recorder.ops() == [2]
