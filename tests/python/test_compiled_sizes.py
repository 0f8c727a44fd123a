"""Sizes and ints that change, below backends that trace the graph again."""

from __future__ import annotations

import harness
import pytest
import torch

if not harness.REFERENCE:
    import ferrodyn
pytestmark = [pytest.mark.own, pytest.mark.slow]

BACKEND = "aot_eager"


def graphs_of(fn, calls, backend=BACKEND, **choices):
    """Compare each call with eager's, and say how many graphs were compiled for them."""
    compiled = ferrodyn.compile(fn, backend=backend, **choices)
    with harness.captured_logs("graph") as records:
        for args in calls:
            expected, found = fn(*args), compiled(*args)
            torch.testing.assert_close(found, expected)
    return len(records)


def rows(x):
    return x.view(x.shape[0], -1)[:, : x.shape[1] // 2] * x.shape[0]


SIZES = [5, 7, 3, 9, 2, 12, 4]


@pytest.mark.parametrize(("dynamic", "expected"), [(None, 2), (True, 1), (False, len(SIZES))])
def test_sizes(dynamic, expected):
    calls = [(torch.randn(n, n + 4),) for n in SIZES]
    assert graphs_of(rows, calls, dynamic=dynamic) == expected


def test_marked_sizes():
    calls = [(torch.randn(n, 3),) for n in SIZES]
    for (x,) in calls:
        torch._dynamo.mark_dynamic(x, 0)
    assert graphs_of(lambda x: x.sum(0) / x.shape[0], calls) == 1


@pytest.mark.parametrize("backend", ["eager", BACKEND])
@pytest.mark.parametrize(("forced", "expected"), [(True, 4), (False, 2)])
def test_sizes_of_parameters_change_where_torchs_option_says_so(backend, forced, expected):
    def fn(x, weight):
        return (x @ weight.t()).sum(0)

    calls = [(torch.randn(3, 2), torch.nn.Parameter(torch.randn(rows, 2))) for rows in (2, 4, 5, 7)]
    with torch._dynamo.config.patch(force_parameter_static_shapes=forced):
        assert graphs_of(fn, calls, backend=backend) == expected


def test_sizes_zero_and_one_have_graphs_of_their_own():
    calls = [(torch.randn(n, 3),) for n in [4, 5, 6, 1, 1, 0, 7]]
    assert graphs_of(lambda x: x * 2, calls) == 4


def test_a_size_that_has_to_be_a_constant():
    """The compiler is not handed it as a number, of which it would not know that it is one."""

    def fn(x):
        side = x.shape[1]
        if side != 8:
            raise ValueError(f"expected 8, got {side}")
        return x.reshape(x.shape[0], -1, (side // 2) * (side // 2)) * x.shape[0]

    assert graphs_of(fn, [(torch.randn(n, 8, 4),) for n in SIZES], dynamic=True) == 1


@torch.library.custom_op("ferrodyn_tests::takes_size", mutates_args=())
def takes_size(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


@takes_size.register_fake
def _(x):
    return x.new_empty(int(x.shape[0]), x.shape[1])


def test_a_size_that_an_operation_makes_a_constant_is_guarded():
    """torch's tracer checks such sizes with the tensors; what a backend says leaves them out."""
    calls = [(torch.randn(n, 6),) for n in SIZES]
    found = graphs_of(lambda x: takes_size(x).view(x.shape[0] * 2, -1) + 1, calls, dynamic=True)
    assert found == len(SIZES)


def test_ints():
    x = torch.randn(3, 8)
    calls = [(x, n) for n in [2, 3, 4, 5, 0, 1]]
    assert graphs_of(lambda x, n: x * n + x[:, : 2 * n // 3].sum(), calls) <= 4


def test_what_the_backend_relies_on_is_guarded():
    """The graph adds tensors whose sizes nobody compares while tracing."""

    def fn(x, y):
        return torch.nn.functional.pad(x, (0, 1)) + y

    sizes = [(3, 4), (5, 6), (7, 8), (9, 10), (4, 1), (11, 12)]
    calls = [(torch.randn(2, a), torch.randn(2, b)) for a, b in sizes]
    assert graphs_of(fn, calls) == 3


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.once)])
def test_training(backend):
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    compiled = ferrodyn.compile(model, backend=backend)
    with harness.captured_logs("graph") as records:
        for n in [3, 5, 6, 8]:
            x = torch.randn(n, 4)
            found = compiled(x)
            found.square().sum().backward()
            gradients = [p.grad.clone() for p in model.parameters()]
            model.zero_grad()
            expected = model(x)
            expected.square().sum().backward()
            torch.testing.assert_close(found, expected)
            torch.testing.assert_close(gradients, [p.grad for p in model.parameters()])
            model.zero_grad()
    assert len(records) == 2


def test_views_of_other_sizes():
    """An input that is a view: what it is a view of has sizes of its own."""

    def fn(x):
        x.mul_(2)
        return x.sum(0)

    compiled = ferrodyn.compile(fn, backend=BACKEND)
    for n, more in [(3, 1), (4, 2), (5, 3), (6, 1), (7, 0)]:
        base = torch.arange(float((n + more) * 2)).view(n + more, 2)
        other = base.clone()
        torch.testing.assert_close(compiled(base[:n]), fn(other[:n]))
        torch.testing.assert_close(base, other)


def test_strides_that_follow_from_sizes():
    calls = [(torch.randn(n, n + 1).t(),) for n in SIZES]
    assert graphs_of(lambda x: x.contiguous() + x, calls) == 2


def test_a_compiler_that_fails_for_sizes_that_are_not_constants():
    """It gets constants then."""
    from torch._dynamo.backends.common import aot_autograd

    handed = []

    def compiler(graph, inputs):
        if any(isinstance(size, torch.SymInt) for i in inputs for size in getattr(i, "shape", ())):
            handed.append("symbols")
            raise NotImplementedError("sizes")
        return graph.forward

    compiled = ferrodyn.compile(
        lambda x: x * x.shape[0], backend=aot_autograd(fw_compiler=compiler)
    )
    for n in [2, 3, 4, 3]:
        torch.testing.assert_close(compiled(torch.ones(n)), torch.ones(n) * n)
    assert handed.count("symbols") == 2


#: Programs of a tensor and an int, with how many graphs they take at `FOUR`.
PROGRAMS = [
    (lambda x, n: x + 1 if n in (2, 100, x.shape[0]) else x - 1, 1),
    (lambda x, n: x + 1 if x.shape[0] in [n, 100] else x - 1, 1),
    (lambda x, n: x * sum(x.shape) + sum(s for s in x.shape if s > 2), 1),
    (lambda x, n: x * sum([n, 1, n]), 1),
    (lambda x, n: x.unflatten(1, (2, -1)), 1),
    (lambda x, n: x.repeat_interleave(n, 0), 1),
    (lambda x, n: x.roll(n, 0) + x.roll((n, 1), (0, 1)), 1),
    (lambda x, n: x.broadcast_to(n, *x.shape), 1),
]
FOUR = [(9, 10, 3), (11, 12, 4), (12, 14, 5), (13, 16, 6)]


@pytest.mark.parametrize("index", range(len(PROGRAMS)))
def test_numbers_stay_symbols(index):
    fn, expected = PROGRAMS[index]
    calls = [(torch.randn(rows, columns), n) for rows, columns, n in FOUR]
    assert graphs_of(fn, calls, dynamic=True) == expected


@pytest.mark.parametrize(
    "part",
    [
        lambda x: x[1:],
        lambda x: x[:, :-1],
        lambda x: x[1:, 1:].t(),
        lambda x: x[2:, 1:-1].detach(),
    ],
)
@pytest.mark.parametrize("dynamic", [None, True])
def test_parts_of_matrices(part, dynamic):
    """Where a tensor starts, and strides that sizes do not say, change with the sizes."""

    def fn(x, n):
        y = x.clone()
        y[:n].mul_(2)
        return y, x * n, x.reshape(-1)[: x.shape[0]], x.stride(), x.shape

    calls = [(part(torch.randn(n + 3, n + 5)), k) for n, k in [(4, 2), (5, 3), (7, 4), (9, 6)]]
    found = graphs_of(fn, calls, dynamic=dynamic)
    assert found == (2 if dynamic is None else 1)


def test_a_condition_with_or_of_a_backend_is_guarded():
    """`infer_size` of a kernel asks for `columns == 2 or columns % 2 == 0`."""

    def fn(x):
        return x.unflatten(-1, (2, -1)) * 2

    calls = [(torch.randn(3, n),) for n in (8, 6, 10, 2, 4)]
    assert graphs_of(fn, calls, dynamic=True) <= 2
    compiled = ferrodyn.compile(fn, backend=BACKEND, dynamic=True)
    compiled(torch.randn(3, 8))
    with pytest.raises(RuntimeError, match="unflatten"):
        compiled(torch.randn(3, 7))


@pytest.mark.parametrize("mark", ["mark_dynamic", "mark_unbacked"])
def test_first_graph_of_a_backend_of_the_program_has_symbols(mark):
    """It is called once for a size that is marked from the start, once torch's tracer is loaded."""
    import torch._dynamo
    from torch._dynamo.backends.registry import lookup_backend

    compiler = lookup_backend("aot_eager")
    handed = []

    def backend(graph, inputs):
        handed.append([type(i) for i in inputs])
        return compiler(graph, inputs)

    compiled = ferrodyn.compile(lambda x: x.sin() * x.shape[0], backend=backend)
    for n in (4, 5, 7):
        x = torch.linspace(0, 1, 3 * n).reshape(n, 3)
        getattr(torch._dynamo.decorators, mark)(x, 0)
        assert torch.equal(compiled(x), x.sin() * n)
    assert len(handed) == 1
    assert torch.SymInt in handed[0]


def test_backend_finds_the_score_function_of_flex_attention():
    from torch.nn.attention.flex_attention import flex_attention

    parts = []

    def backend(graph, inputs):
        parts.extend(name for name, _ in graph.named_children())
        return graph

    compiled = ferrodyn.compile(
        lambda q: flex_attention(q, q, q, score_mod=lambda s, b, h, i, j: s * 2 + i),
        backend=backend,
    )
    compiled(torch.randn(1, 1, 8, 8))
    assert any(name.startswith("score_mod") for name in parts)


def selected(x):
    return x[x > 1] * 2


def placed(x):
    return x.nonzero().shape[0] + x


def sized(x):
    n = x.max().item()
    return torch.zeros(n, 2) + torch.arange(n)[:, None]


def scaled(x):
    return x * float(x[0]), int(x[1]) + 1


def largest(x):
    k = x.min().item()
    torch._check(k <= 3)
    return torch.topk(x, k)[0]


def padded(x):
    n = x[0].item()
    return torch.nn.functional.pad(x, (0, n)), x[:1].expand(n)


def sliced(x):
    n = x[0].item()
    y = torch.arange(12.0).view(4, 3)
    first = y[:n]
    return first.t().contiguous() * 2, first.shape[0] + 1, y[:, :n], torch.cat([first, y[n:]])


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("fn", [selected, placed, sized, scaled, largest, padded, sliced])
def test_one_graph_holds_sizes_that_only_it_knows(fn, backend):
    compiled = ferrodyn.compile(fn, backend=backend, fullgraph=True)
    for values in ([2, 1, 3], [1, 1, 4], [3, 0, 2], [0, 2, 1], [9, 1, 1]):
        x = torch.tensor(values)
        torch.testing.assert_close(compiled(x), fn(x), rtol=0, atol=0)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_place_that_is_negative_counts_from_the_end(backend):
    compiled = ferrodyn.compile(sliced, backend=backend, fullgraph=True)
    for values in ([2, 1], [-1, 2], [-3, 0], [-9, 0]):
        x = torch.tensor(values)
        torch.testing.assert_close(compiled(x), sliced(x), rtol=0, atol=0)


def test_a_count_that_is_negative_raises_what_eager_raises():
    compiled = ferrodyn.compile(sized, backend="aot_eager", fullgraph=True)
    compiled(torch.tensor([2, 1]))
    with pytest.raises(RuntimeError) as eager:
        sized(torch.tensor([-2, -3]))
    with pytest.raises(RuntimeError) as found:
        compiled(torch.tensor([-2, -3]))
    assert str(found.value) == str(eager.value)


def windows(x):
    """Partition a padded image, as models with windows do, and attend in each."""
    x = torch.nn.functional.avg_pool2d(x, 2).permute(0, 2, 3, 1)
    _, height, width, channels = x.shape
    x = torch.nn.functional.pad(x, (0, 0, 0, (7 - width % 7) % 7, 0, (7 - height % 7) % 7))
    x = x.view(-1, x.shape[1] // 7, 7, x.shape[2] // 7, 7, channels)
    x = x.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, 49, channels)
    count, length, channels = x.shape
    x = x.reshape(count, length, 2, channels // 2)
    return x @ x.transpose(-2, -1), count


def halved(x):
    """Flatten what strided operations leave, and split it into heads."""
    for _ in range(5):
        x = torch.nn.functional.avg_pool2d(x, 3, 2, 1)
    batch, length, channels = (x := x.flatten(2).transpose(1, 2)).shape
    return x.reshape(batch, length, 2, -1).permute(0, 2, 1, 3) * 2


@pytest.mark.parametrize("fn", [windows, halved])
@pytest.mark.parametrize("backend", ["eager", BACKEND])
def test_the_batch_stays_a_symbol_behind_what_is_rounded(fn, backend):
    calls = [(torch.randn(n, 4, 96, 64),) for n in (3, 2, 5, 7)]
    assert graphs_of(fn, calls, backend, dynamic=True) == 1


def test_a_size_by_a_step_whose_sign_is_asked():
    """torch computes it by expressions with conditions; one answer holds for all steps here."""

    def fn(x, step):
        return torch.arange(0, 60, step).sum() + x

    calls = [(torch.ones(3), step) for step in (2, 3, 4, 5, 7)]
    assert graphs_of(fn, calls) == 2


def test_a_tensor_without_elements_below_inductor():
    """Its code takes no sizes from such a tensor."""
    calls = [(torch.randn(0, n, 4),) for n in (3, 5, 7)]
    assert graphs_of(lambda x: x * 2, calls, "inductor") == 2
