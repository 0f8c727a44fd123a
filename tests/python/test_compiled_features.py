"""What backends are handed: features that need no graph that runs as it is.

Each program runs under AOTAutograd and, a few of them, under inductor; results are eager's.
"""

import copy
import random

import ferrodyn
import pytest
import torch
from torch import nn

pytestmark = pytest.mark.slow


class Counting:
    """A hand-written backend around one of torch's: what it makes of a graph is no graph."""

    def __init__(self, name):
        from torch._dynamo.backends.registry import lookup_backend

        self.inner = lookup_backend(name)
        self.graphs = []

    def __call__(self, gm, inputs):
        self.graphs.append(gm)
        return self.inner(gm, inputs)

    @property
    def targets(self):
        """What the last graph calls."""
        nodes = self.graphs[-1].graph.nodes
        return [str(node.target) for node in nodes if node.op.startswith("call")]


def known(name):
    """The same, known for a compiler before its first graph."""
    from torch._dynamo.backends.common import AotAutograd

    class Known(Counting, AotAutograd):
        pass

    return Known(name)


def counting(name):
    """A counting backend that Ferrodyn knows for what it is."""
    return Counting(name) if name == "eager" else known(name)


def agree(fn, backend, calls, **tolerance):
    compiled = ferrodyn.compile(fn, backend=backend)
    for args in calls:
        torch.manual_seed(0)
        expected = fn(*copy.deepcopy(args))
        torch.manual_seed(0)
        torch.testing.assert_close(compiled(*args), expected, **tolerance)
    return len(backend.graphs)


def test_parameters_are_exchanged_behind_a_compilation():
    """Torch exchanges no tensor that somebody refers to weakly."""
    net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    compiled = ferrodyn.compile(net, backend="aot_eager")
    x = torch.randn(2, 3)
    torch.testing.assert_close(compiled(x), net(x))
    torch.utils.swap_tensors(net[0].weight, net[1].weight)
    torch.testing.assert_close(compiled(x), net(x))


def test_a_function_that_is_not_differentiated_reads_parameters():
    """A compiler gets the nodes of `forward`: it could not follow parameters into the function."""

    class Through(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y, layers):
            for layer in layers:
                x = layer(x) * 2
            ctx.save_for_backward(x)
            return x, y

        @staticmethod
        def backward(ctx, grad, other):
            (x,) = ctx.saved_tensors
            return grad * x, other, None

    layers = nn.ModuleList([nn.Linear(3, 3), nn.Tanh()])

    def fn(x, y):
        first, same = Through.apply(x, y, layers)
        return first + 1, same, same is y, first.requires_grad

    backend = known("aot_eager")
    compiled = ferrodyn.compile(fn, backend=backend, fullgraph=True)
    for x in torch.ones(2, 3), torch.ones(2, 3, requires_grad=True):
        with torch.set_grad_enabled(not x.requires_grad):
            torch.testing.assert_close(compiled(x, x.detach() * 2), fn(x, x.detach() * 2))
    assert len(backend.graphs) == 2


def test_views_of_wrapper_subclasses_whose_sizes_change():
    """Torch compares sizes with what it makes on the way, which no guard can read."""
    from torch.testing._internal.two_tensor import TwoTensor

    whole = TwoTensor(torch.arange(60.0).reshape(4, 15), torch.ones(4, 15))
    views = whole.narrow(-1, 3, 8), whole.split(5, -1)[2], whole.view(-1, 15)
    for view in views:
        ferrodyn.reset()
        options = {"backend": "aot_eager", "fullgraph": True, "dynamic": True}
        compiled = ferrodyn.compile(lambda x: x * 2, **options)
        for given in view, view[:2]:
            found, expected = compiled(given), given * 2
            assert torch.equal(found.a, expected.a) and torch.equal(found.b, expected.b)


BACKENDS = ["aot_eager", pytest.param("inductor", marks=pytest.mark.once)]


@pytest.mark.parametrize("name", BACKENDS)
def test_floats_that_change(name):
    calls = [(torch.randn(4), 0.5 + i) for i in range(5)]
    assert agree(lambda x, s: torch.relu(x) * s + s / 2, known(name), calls) == 2


def test_a_gradient_that_is_differentiated_below_a_hand_written_backend():
    """What a compiler makes cannot be differentiated twice; the first graph shows what it is."""
    net = nn.Sequential(nn.Linear(3, 4), nn.Softplus(), nn.Linear(4, 1))

    def penalty(x):
        (grad,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
        return (grad.norm(dim=1) - 1).square().mean()

    compiled = ferrodyn.compile(penalty, backend=Counting("aot_eager"))
    for size in (2, 3):
        x = torch.randn(size, 3, requires_grad=True)
        grads = [torch.autograd.grad(fn(x), net[0].weight)[0] for fn in (penalty, compiled)]
        torch.testing.assert_close(*grads)


@pytest.mark.parametrize("held", ["local", "stack", "list"])
def test_a_gradient_of_one_of_two_losses(held):
    """What a compiler made of both is let go with the first gradient, so neither is compiled."""

    def other(x, w):
        return (x @ w).sin().sum()

    def in_local(x, w):
        kept = other(x, w)
        (grad,) = torch.autograd.grad(x.square().sum(), x)
        return kept, grad

    def on_stack(x, w):
        return other(x, w), torch.autograd.grad(x.square().sum(), x)[0]

    def in_list(x, w):
        kept = [other(x, w)]
        (grad,) = torch.autograd.grad(x.square().sum(), x)
        return kept.pop(), grad

    fn = {"local": in_local, "stack": on_stack, "list": in_list}[held]
    for backend in "aot_eager", Counting("aot_eager"):
        found = []
        for call in fn, ferrodyn.compile(fn, backend=backend):
            torch.manual_seed(0)
            x, w = (torch.randn(3, 3, requires_grad=True) for _ in range(2))
            loss, grad = call(x, w)
            loss.backward()
            found.append((loss.detach(), grad, x.grad, w.grad))
        torch.testing.assert_close(*found)


def test_a_gradient_of_all_that_is_held():
    def fn(x, w):
        y = (x * w).sin()
        scale = y.detach().sum()
        (grad,) = torch.autograd.grad(y.sum(), x)
        return grad * scale

    backend = Counting("aot_eager")
    x, w = (torch.randn(3, requires_grad=True) for _ in range(2))
    torch.testing.assert_close(ferrodyn.compile(fn, backend=backend)(x, w), fn(x, w))
    assert len(backend.graphs) == 2


def test_floats_of_a_hand_written_backend():
    calls = [(torch.randn(4), 0.5 + i) for i in range(5)]
    assert agree(lambda x, s: x * s, Counting("aot_eager"), calls) == 2


def test_sizes_of_a_hand_written_backend():
    calls = [(torch.randn(n, 3),) for n in (4, 5, 7, 9)]
    backend = Counting("aot_eager")
    assert agree(lambda x: x.sum(0) / x.shape[0], backend, calls) == 2
    placeholders = [n for n in backend.graphs[1].graph.nodes if n.op == "placeholder"]
    assert all("example_value" in node.meta for node in placeholders)


class Looking(Counting):
    """Looks at what nodes hold, when it has compiled the graph."""

    def __init__(self):
        super().__init__("aot_eager")
        self.made, self.sizes = [], []

    def __call__(self, graph, inputs):
        compiled = super().__call__(graph, inputs)
        calls = [node for node in graph.graph.nodes if node.op.startswith("call")]
        self.made.append([dict.__contains__(node.meta, "example_value") for node in calls])
        assert all("example_value" in node.meta.copy() for node in calls)
        self.sizes.append([tuple(node.meta["example_value"].shape) for node in calls])
        assert all(dict.__contains__(node.meta, "example_value") for node in calls)
        assert "example_value" in dict(calls[0].meta)
        return compiled


def test_fake_values_of_nodes_are_made_when_somebody_looks():
    calls = [(torch.randn(n, 3),) for n in (4, 5, 7)]
    backend = Looking()
    torch._dynamo.mark_dynamic(calls[0][0], 0)
    agree(lambda x: torch.relu(x).sum(1), backend, calls)
    assert backend.made[-1] == [False, False]
    assert [len(sizes) for sizes in backend.sizes[-1]] == [2, 1]


def test_floats_that_a_compiler_needs_as_constants():
    """`alpha=` is no tensor for AOTAutograd: a graph for each value, one attempt with a float."""
    backend = known("aot_eager")
    calls = [(torch.randn(4), 0.5 + i) for i in range(4)]
    assert agree(lambda x, s: x.add(x, alpha=s), backend, calls) == 5


def test_floats_of_a_function_that_torch_has_compiled_before():
    def filled(x, k):
        return torch.full((2,), k) + x[0]

    calls = [(torch.arange(8.0), k) for k in (0.5, 1.5, 2.25, 3.0)]
    theirs = torch.compile(filled, backend="aot_eager")
    ours = ferrodyn.compile(filled, backend="aot_eager")
    try:
        for compiled in (theirs, ours):
            for args in calls:
                torch.testing.assert_close(compiled(*args), filled(*args))
    finally:
        torch._dynamo.reset()


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_floats_that_are_not_finite(value):
    calls = [(torch.ones(2), s) for s in (0.5, 1.5, value, 2.5)]
    agree(lambda x, s: x * s, known("aot_eager"), calls, equal_nan=True)


OPTIMIZERS = [
    "SGD Adam AdamW NAdam RAdam Adamax Adagrad Adadelta RMSprop ASGD Rprop".split(),
    [False, True],
]


@pytest.mark.parametrize("below", ["eager", "aot_eager"])
@pytest.mark.parametrize("foreach", OPTIMIZERS[1])
@pytest.mark.parametrize("name", OPTIMIZERS[0])
def test_steps_of_optimizers(name, foreach, below):
    def make():
        torch.manual_seed(0)
        model = nn.Linear(3, 2)
        for p in model.parameters():
            p.grad = torch.rand_like(p)
        options = {"lr": 0.1, "foreach": foreach}
        return model, getattr(torch.optim, name)(model.parameters(), **options)

    (model, optimizer), (plain, other) = make(), make()
    backend = counting(below)
    step = ferrodyn.compile(lambda: optimizer.step(), backend=backend)
    for _ in range(4):
        step()
        other.step()
        for p, q in zip(model.parameters(), plain.parameters(), strict=True):
            torch.testing.assert_close(p, q, rtol=1e-4, atol=1e-4)
    # What the first makes is made before it.
    assert len(backend.graphs) == 1
    assert len(backend.targets) > 1
    assert optimizer.param_groups[0].get("capturable") in (None, False)


def trained_with(name, below="aot_eager", **options):
    """Train a small model, compare with eager, and return the number of graphs."""

    def make():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
        parameters = [p for p in model.parameters() if p.ndim > 1 or name != "Muon"]
        optimizer = getattr(torch.optim, name)(parameters, lr=0.1, **options)

        def step(x):
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss

        return model, step

    (model, step), (plain, other) = make(), make()
    backend = counting(below)
    compiled = ferrodyn.compile(step, backend=backend)
    for _ in range(4):
        x = torch.randn(5, 3)
        torch.testing.assert_close(compiled(x), other(x), rtol=1e-4, atol=1e-4)
        for p, q in zip(model.parameters(), plain.parameters(), strict=True):
            torch.testing.assert_close(p, q, rtol=1e-3, atol=1e-3)
    return len(backend.graphs)


@pytest.mark.parametrize("below", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Muon", "RMSprop"])
def test_a_training_step_is_compiled_once(name, below):
    assert trained_with(name, below) == 2


FUSED = [("SGD", {}), ("SGD", {"momentum": 0.9}), ("Adagrad", {}), ("Adam", {}), ("AdamW", {})]


@pytest.mark.parametrize(("name", "options"), FUSED)
def test_a_fused_step_runs_in_eager_mode(name, options):
    assert trained_with(name, fused=True, **options) == 1


def test_a_fused_step_with_amsgrad_may_be_captured():
    # Where torch.compile was used in the process, torch has marked that step as not to be traced.
    assert trained_with("Adam", fused=True, amsgrad=True) in (1, 2)


class LooksFirst(torch.optim.Adam):
    """Looks at what it keeps, and makes some of it itself."""

    def _init_group(self, group, *lists):
        first = group["params"][0]
        if not self.state[first]:
            zeros = torch.zeros_like(first)
            kept = {"step": torch.tensor(3.0), "exp_avg": zeros, "exp_avg_sq": zeros.clone()}
            self.state[first].update(kept)
        return super()._init_group(group, *lists)


def looked_at(optimizer):
    before = len(optimizer.state)
    optimizer.step()
    return before, len(optimizer.state)


def with_another_rate(optimizer):
    optimizer.param_groups[0]["lr"] = 0.5
    optimizer.step()
    return len(optimizer.state)


def without_a_gradient(optimizer):
    optimizer.param_groups[0]["params"][1].grad = None
    optimizer.step()
    return len(optimizer.state)


def of_two_groups(optimizer):
    optimizer.step()
    kept = optimizer.state[optimizer.param_groups[-1]["params"][0]]
    return len(optimizer.state), list(kept)


@pytest.mark.parametrize("below", ["eager", "aot_eager"])
@pytest.mark.parametrize("fn", [looked_at, with_another_rate, without_a_gradient, of_two_groups])
@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.Rprop, LooksFirst])
def test_state_of_optimizers_is_what_the_step_would_make(kind, fn, below):
    def make():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 2))
        for p in model[0].parameters():
            p.grad = torch.rand_like(p)
        model[1].bias.grad = torch.rand(2)
        groups = [{"params": layer.parameters()} for layer in model]
        return kind(groups, lr=0.1)

    optimizer, plain = make(), make()
    compiled = ferrodyn.compile(fn, backend=counting(below))
    for _ in range(3):
        assert compiled(optimizer) == fn(plain)
        states = [
            [dict(o.state.get(p, {})) for g in o.param_groups for p in g["params"]]
            for o in (optimizer, plain)
        ]
        torch.testing.assert_close(*states)
        assert [list(kept) for kept in states[0]] == [list(kept) for kept in states[1]]


@pytest.mark.parametrize(
    "fn",
    [
        torch.func.grad(lambda x: torch.sin(x).sum()),
        lambda x: torch.func.jacrev(torch.sin)(x),
        lambda x: torch.func.hessian(lambda y: torch.sin(y).sum())(x),
        lambda x: torch.func.jvp(torch.sin, (x,), (x,)),
        lambda x: torch.vmap(torch.func.grad(lambda y: (y * y).sum()))(x),
    ],
    ids=["grad", "jacrev", "hessian", "jvp", "vmap_grad"],
)
def test_transforms(fn):
    backend = known("aot_eager")
    assert agree(fn, backend, [(torch.randn(3, 2),) for _ in range(2)]) == 1


@pytest.mark.parametrize("name", BACKENDS)
def test_numbers_that_the_graph_reads(name):
    def fn(x, i):
        y = x.clone()
        total = y.sum()
        n = total.item()
        total.add_(1)
        return x * n + n + i.item() * 2, n, total

    backend = known(name)
    calls = [(torch.randn(3), torch.tensor(i, dtype=torch.int32)) for i in range(3)]
    assert agree(fn, backend, calls) == 1
    assert backend.targets.count("item") == 2


def test_numbers_are_constants_where_no_context_can_be_made(monkeypatch):
    """A backend that is not told which numbers change may take them for constants."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx

    def refuse(*args, **kwargs):
        raise NotImplementedError("no fake of it")

    handed = []

    def retraced(gm, inputs):
        handed.append([type(i) for i in inputs])
        return make_fx(gm)(*inputs)

    monkeypatch.setattr(FakeTensorMode, "from_tensor", refuse)
    compiled = ferrodyn.compile(lambda x, n: x * n, backend=retraced)
    x = torch.ones(2)
    for n in (2, 3, 4, 3):
        assert torch.equal(compiled(x, n), x * n)
    assert handed[-1] == [torch.Tensor]


@pytest.mark.parametrize("backend", BACKENDS)
def test_tangents_of_forward_mode_are_not_dropped(backend):
    """What is compiled outside all levels serves no call inside one."""
    from torch.autograd import forward_ad

    backend = Counting(backend)
    compiled = ferrodyn.compile(lambda x: x * x + x.sin(), backend=backend)
    x, tangent = torch.arange(3.0), torch.full((3,), 5.0)
    expected = x * x + x.sin()
    torch.testing.assert_close(compiled(x), expected)
    with forward_ad.dual_level():
        primal, found = forward_ad.unpack_dual(compiled(forward_ad.make_dual(x, tangent)))
    torch.testing.assert_close(primal, expected)
    torch.testing.assert_close(found, (2 * x + x.cos()) * tangent)
    torch.testing.assert_close(compiled(x), expected)
    assert len(backend.graphs) == 1


class MadeInside(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.full((width, width), 2.0))
        self.frozen = nn.Parameter(torch.arange(float(width)), requires_grad=False)
        self.shift = nn.Buffer(torch.ones(width), persistent=False)

    def forward(self, x):
        return x @ self.weight + self.frozen + self.shift


def uses_module(x):
    net = MadeInside(3)
    with torch.no_grad():
        net.weight.mul_(0.5)
    names = [(name, p.requires_grad, p.is_leaf) for name, p in net.named_parameters()]
    assert names == [("weight", True, True), ("frozen", False, True)]
    assert [name for name, _ in net.named_buffers()] == ["shift"]
    return net(x)


def draws_an_int(x):
    return x * random.randint(1, 100) + random.choice([2, 3, 5])


@pytest.mark.parametrize("fn", [uses_module, draws_an_int])
@pytest.mark.parametrize("name", ["aot_eager", "inductor"])
def test_one_graph_below_compilers(fn, name):
    backend = known(name)
    compiled = ferrodyn.compile(fn, backend=backend, fullgraph=True)
    for seed in range(3):
        results = []
        for entry in (fn, compiled):
            random.seed(seed)
            x = torch.linspace(0, 1, 6).reshape(2, 3).requires_grad_()
            made = entry(x)
            made.sum().backward()
            results.append((made, x.grad, random.getstate()))
        torch.testing.assert_close(results[1][:2], results[0][:2])
        assert results[1][2] == results[0][2]
    assert len(backend.graphs) == 1
