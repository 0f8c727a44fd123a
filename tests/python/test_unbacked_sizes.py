"""`mark_unbacked`: nothing is to be known of a size, so one graph serves all, 0 and 1 too."""

from __future__ import annotations

import harness
import pytest
import torch

if not harness.REFERENCE:
    import ferrodyn
pytestmark = pytest.mark.own

BACKENDS = ["eager", "aot_eager"]
SIZES = [5, 0, 1, 7, 3]


def unbacked(*shape, dims=(0,), **choices):
    from torch._dynamo.decorators import mark_unbacked

    x = torch.randn(*shape)
    for dim in dims:
        mark_unbacked(x, dim, **choices)
    return x


def graphs_of(fn, calls, backend):
    """Compare each call with eager's, and say how many graphs were compiled for them."""
    compiled = ferrodyn.compile(fn, backend=backend)
    with harness.captured_logs("graph") as records:
        for args in calls:
            torch.testing.assert_close(compiled(*args), fn(*args), equal_nan=True)
    return len(records)


linear = torch.nn.Linear(4, 3)
gru = torch.nn.GRU(4, 4, batch_first=True)
layer = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval()


def attention(x):
    n, d = x.shape
    q = x.reshape(n, 2, d // 2).permute(1, 0, 2)
    weights = (q @ q.transpose(-1, -2)).softmax(-1)
    return (weights @ q).permute(1, 0, 2).reshape(n, d)


def written_to(x):
    x = x.clone()
    x[0:2] = 0
    x += 1
    return x


SERVED_BY_ONE = {
    "pointwise": lambda x: (x * 2).relu() + 1,
    "linear": lambda x: linear(x).relu().sum(),
    "view": lambda x: x.view(-1).cos(),
    "view of sizes": lambda x: x.view(x.shape[0], 2, 2).transpose(1, 2).contiguous(),
    "factory": lambda x: (torch.ones(x.shape[0], 3), torch.arange(x.shape[0])),
    "concatenation": lambda x: torch.cat([x, torch.ones(2, 4), x]),
    "slices": lambda x: (x[1:] * 2, x[:-1]),
    "reductions": lambda x: (x.mean(0), x.sum(1), x.softmax(0), x.amax(1)),
    "matrices": lambda x: (x @ x.t(), x.unsqueeze(0) + x.unsqueeze(1)),
    "no rule": lambda x: (torch.special.i0(x), torch.fft.fft(x, dim=1).abs()),
    "attention": attention,
    "recurrent": lambda x: gru(x.unsqueeze(1))[0],
    "encoder layer": lambda x: layer(x.unsqueeze(0)),
    "written to": written_to,
    "checked": lambda x: (torch._check(x.shape[0] < 100), x * x.shape[0])[1],
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", SERVED_BY_ONE)
def test_one_graph(name, backend):
    calls = [(unbacked(n, 4),) for n in SIZES]
    assert graphs_of(SERVED_BY_ONE[name], calls, backend) == 1


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("first", [0, 1])
def test_first_size_is_zero_or_one(first, backend):
    calls = [(unbacked(n, 4),) for n in (first, 5, 1, 0)]
    assert graphs_of(lambda x: linear(x) * x.shape[0], calls, backend) == 1


def test_one_graph_for_inductor():
    def fn(x):
        return (torch.nn.functional.gelu(x) @ x.t()).softmax(-1)

    assert graphs_of(fn, [(unbacked(n, 4),) for n in SIZES], "inductor") == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_two_sizes_that_have_to_be_equal(backend):
    calls = [(unbacked(n, 4), unbacked(n, 4)) for n in SIZES]
    assert graphs_of(lambda x, y: x + y, calls, backend) == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients(backend):
    def fn(x):
        return linear(x).relu().pow(2).sum()

    compiled = ferrodyn.compile(fn, backend=backend)
    for n in SIZES:
        x = unbacked(n, 4).requires_grad_()
        expected = torch.autograd.grad(fn(x), x)
        torch.testing.assert_close(torch.autograd.grad(compiled(x), x), expected)


def rank(x):
    y = x.squeeze()
    return y * y.dim()


def layout(x):
    y = x.t().contiguous()
    return y * y.stride(0), x.t().is_contiguous()


def branch(x):
    return x + 1 if x.shape[0] == 1 else x - 1


def index(x):
    try:
        return x[0] + 1
    except IndexError:
        return x.sum()


def reduced(x):
    try:
        return x.amax(0)
    except IndexError:
        return x.sum()


def broadcast(x):
    return x + torch.ones(3, 4)[: min(x.shape[0], 3)]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", [rank, layout, branch, index, reduced, broadcast])
def test_what_differs_for_zero_or_one_is_not_mixed_up(fn, backend):
    """Under torch.compile some of these have wrong results: a rank, a stride."""
    for sizes in (SIZES, [1, 0, 5, 1, 4], [0, 4, 1, 3]):
        calls = [(unbacked(n, 4),) for n in sizes if fn is not broadcast or n <= 3]
        assert graphs_of(fn, calls, backend) <= 4


@pytest.mark.parametrize("backend", BACKENDS)
def test_sizes_inside_of_strides(backend):
    calls = [(unbacked(2, 4, n, dims=(2,)),) for n in SIZES]
    assert graphs_of(lambda x: x * 2 + x.sum(2, keepdim=True), calls, backend) == 2


@pytest.mark.parametrize(("backend", "expected"), [("eager", 1), ("aot_eager", 4)])
def test_what_a_compiler_has_to_know(backend, expected):
    """It decides by the number of elements: it refuses the graph for all, and gets one for each."""

    def fn(x):
        return torch.cdist(x, x)

    assert graphs_of(fn, [(unbacked(n, 4),) for n in SIZES], backend) == expected


@pytest.mark.parametrize("backend", BACKENDS)
def test_strict_mark(backend):
    from torch.fx.experimental.symbolic_shapes import ConstraintViolationError

    assert graphs_of(lambda x: x * 2, [(unbacked(n, 4, strict=True),) for n in SIZES], backend) == 1
    compiled = ferrodyn.compile(lambda x: x + torch.ones(5, 1), backend=backend)
    with pytest.raises(ConstraintViolationError, match="mark_unbacked"):
        compiled(unbacked(5, 4, strict=True))


@pytest.mark.parametrize("backend", BACKENDS)
def test_bounds_and_names_of_sizes_refuse_nothing(backend):
    """Under torch.compile such a call fails, with a text about a fault in torch."""
    calls = [(unbacked(n, 4, min=4, max=6),) for n in SIZES]
    assert graphs_of(lambda x: x * 2, calls, backend) == 1
    calls = [
        (unbacked(n, 4, shape_id="batch"), unbacked(m, 4, shape_id="batch"))
        for n, m in zip(SIZES, reversed(SIZES), strict=True)
    ]
    assert graphs_of(lambda x, y: x * 2 + y.sum(), calls, backend) == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_where_one_graph_needs_a_number_of_an_input_it_is_guarded(backend):
    """As torch.compile has it: a list or a branch by such a number is made for its value."""

    @ferrodyn.compile(backend=backend, fullgraph=True)
    def fn(x, t, f):
        parts = [x * i for i in range(t.item())]
        return (parts, x.sum(dim=t.item() % 2)) if f.item() > 0 else (parts, f.item())

    x = torch.ones(2, 3)
    for n, number in [(3, 1.0), (2, 1.0), (3, 1.0), (3, -1.0)]:
        t, f = torch.tensor(n), torch.tensor(number)
        parts, rest = fn(x, t, f)
        assert len(parts) == n
        assert torch.equal(rest, x.sum(dim=n % 2)) if number > 0 else rest == number
        t.add_(1)
        assert len(fn(x, t, f)[0]) == n + 1

    @ferrodyn.compile(backend=backend, fullgraph=True)
    def written(x, t):
        t.add_(1)
        return [x] * t.item()

    with pytest.raises(ferrodyn.exc.Unsupported):
        written(x, torch.tensor(1))
