"""Sizes that change: how many graphs, what is guarded, and eager's results at every size."""

from __future__ import annotations

import random

import harness
import pytest
import torch

if not harness.REFERENCE:
    import ferrodyn
pytestmark = pytest.mark.own


def counted(fn, **choices):
    recorder = harness.Recorder()
    return ferrodyn.compile(fn, backend=recorder, **choices), recorder.graphs


def rows(x):
    return x.view(x.shape[0], -1) * x.shape[0]


SIZES = [5, 7, 3, 9, 2, 12, 4]


@pytest.mark.parametrize(("dynamic", "expected"), [(None, 2), (True, 1), (False, len(SIZES))])
def test_sizes(dynamic, expected):
    entry, graphs = counted(rows, dynamic=dynamic)
    for n in SIZES:
        x = torch.randn(n, 2, 3)
        assert torch.equal(entry(x), rows(x))
    assert len(graphs) == expected


def test_a_backend_that_traces_once_more_gets_symbols():
    seen = []

    def backend(gm, example_inputs):
        seen.append([node.op for node in gm.graph.nodes].count("placeholder"))
        return lambda *args: gm(*args)

    entry = ferrodyn.compile(rows, backend=backend)
    for n in SIZES:
        x = torch.randn(n, 2, 3)
        assert torch.equal(entry(x), rows(x))
    # It is known for one from the first graph on, which has no symbol.
    assert seen == [1, 2]


def test_the_reason_of_a_size():
    def branches(x):
        return x + 1 if x.shape[0] > 6 else x - 1

    fails = []
    entry = ferrodyn.optimize("eager", guard_fail_fn=fails.append)(branches)
    for n in [3, 5, 9]:
        entry(torch.ones(n))
    reasons = [fail.reason for fail in fails]
    assert any("size mismatch at index 0. expected 3, actual 5" in r for r in reasons)
    assert any("x.size()[0] <= 6. expected <= 6, actual 9" in r for r in reasons), reasons


UNARY = [
    "{x} + 1",
    "{x}.t()",
    "{x}.reshape(-1)",
    "{x}.reshape({x}.shape[0], -1)",
    "{x}[1:]",
    "{x}[..., : {x}.shape[-1] // 2]",
    "{x}.sum(0)",
    "{x}.softmax(-1)",
    "{x} * {x}.shape[0]",
    "{x}.expand(2, *{x}.shape)",
    "torch.cat([{x}, {x}[:1]], 0)",
    "torch.stack([{x}, {x}])",
    "{x} + torch.arange({x}.shape[-1])",
    "{x}.chunk(2)[0]",
    "({x} + 1 if {x}.shape[0] > 4 else {x} - 1)",
    "({x} * 2 if {x}.is_contiguous() else {x} * 3)",
    "{x}.unsqueeze(0)",
    "{x}.squeeze()",
    "{x}.reshape(-1, 2)",
    "{x}.select(0, -1)",
    "{x}.topk(2, 0)[0]",
    "{x}.unsqueeze_(0)",
]
BINARY = [
    "{x} + {y}",
    "{x} @ {y}",
    "torch.cat([{x}, {y}], -1)",
    "{x}.expand_as({y})",
    "({x} + 1 if {x}.shape == {y}.shape else {y})",
    "{x}[: {y}.shape[0]]",
    "{x}.reshape({y}.shape)",
]


def program(rng):
    names, lines = ["x", "y"], []
    for i in range(rng.randint(1, 5)):
        form = rng.choice(BINARY if rng.random() < 0.3 else UNARY)
        lines.append(f"    v{i} = " + form.format(x=rng.choice(names), y=rng.choice(names)))
        names.append(f"v{i}")
    results = ", ".join([*names[2:], f"{rng.choice(names)}.shape"])
    source = "def fn(x, y):\n" + "\n".join(lines) + f"\n    return {results}, x.shape[0] + 1\n"
    scope = {"torch": torch}
    exec(source, scope)
    return source, scope["fn"]


def outcome(fn, *tensors):
    """The results and the arguments afterwards, or the exception's type."""
    tensors = [torch.empty_strided(t.shape, t.stride()).copy_(t) for t in tensors]
    try:
        results = [*fn(*tensors), *tensors]
    except Exception as e:
        return type(e)
    return [
        (r.shape, r.stride(), r.nan_to_num().tolist()) if isinstance(r, torch.Tensor) else r
        for r in results
    ]


def tensor(rng, sizes):
    a, b = sizes
    layouts = [
        lambda: torch.randn(a, b),
        lambda: torch.randn(a, b),
        lambda: torch.randn(b, a).t(),
        lambda: torch.randn(a, b + 1)[:, :-1],
        lambda: torch.randn(a, b * 2)[:, ::2],
    ]
    return rng.choice(layouts)()


@pytest.mark.parametrize("seed", range(20))
def test_programs_at_all_sizes(seed):
    rng = random.Random(seed)
    for _ in range(3):
        source, fn = program(rng)
        entry = ferrodyn.compile(fn, backend="eager", dynamic=rng.choice([None, True]))
        x, y = [3, 4], rng.choice([[3, 4], [4, 3]])
        for _ in range(6):
            size, dim = rng.choice([0, 1, 2, 3, 4, 5, 6, 8]), rng.randrange(2)
            x[dim] = size
            y[rng.choice([dim, 1 - dim])] = rng.choice([size, y[0], 4])
            tensors = tensor(rng, x), tensor(rng, y)
            assert outcome(entry, *tensors) == outcome(fn, *tensors), (source, x, y)
