"""Ints that change are inputs of the graph: how many graphs, and what is guarded."""

from __future__ import annotations

import itertools
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


def product(x, n):
    return x * n


def test_the_second_value_is_the_last_compilation():
    entry, graphs = counted(product)
    x = torch.ones(2)
    for n in range(20):
        assert torch.equal(entry(x, n), x * n)
    assert len(graphs) == 2
    assert [node.name for node in graphs[1].graph.nodes if node.op == "placeholder"] == ["x", "n"]


def test_dynamic_false_keeps_constants():
    entry, graphs = counted(product, dynamic=False)
    for n in range(4):
        entry(torch.ones(2), n)
    assert len(graphs) == 4


def test_dynamic_true_starts_with_inputs():
    entry, graphs = counted(product, dynamic=True)
    for n in range(4):
        entry(torch.ones(2), n)
    assert len(graphs) == 1


def test_options_by_torchs_names():
    with ferrodyn.config.patch(automatic_dynamic_shapes=False):
        entry, graphs = counted(product)
        for n in range(4):
            entry(torch.ones(2), n)
        assert len(graphs) == 4
    with ferrodyn.config.patch(assume_static_by_default=False):
        entry, graphs = counted(product)
        for n in range(4):
            entry(torch.ones(2), n)
        assert len(graphs) == 1


@pytest.mark.parametrize(
    ("option", "numbers"), [("specialize_int", (2, 3, 4, 5)), ("specialize_float", (0.5, 1.5, 2.5))]
)
def test_numbers_of_a_kind_are_constants_where_torchs_option_says_so(option, numbers):
    for dynamic in (None, True):
        with ferrodyn.config.patch({option: True}):
            entry, graphs = counted(lambda x, n: x * n + x.shape[0], dynamic=dynamic)
            for n in numbers:
                assert torch.equal(entry(torch.ones(2), n), torch.ones(2) * n + 2)
            assert len(graphs) == len(numbers)
            # Sizes are not meant.
            for size in (3, 4, 5):
                entry(torch.ones(size), numbers[0])
            assert len(graphs) <= len(numbers) + 1


def test_reset_makes_ints_constants_again():
    entry, graphs = counted(product)
    for n in range(3):
        entry(torch.ones(2), n)
    ferrodyn.reset()
    entry(torch.ones(2), 2)
    assert len(graphs) == 3
    assert [node.name for node in graphs[2].graph.nodes if node.op == "placeholder"] == ["x"]


def test_the_reason_is_the_relation():
    def fn(x, n):
        return x + 1 if n % 3 == 1 else x

    entry, _ = counted(fn, dynamic=True)
    with harness.captured_logs("guards", "recompiles") as records:
        entry(torch.ones(2), 4)
        entry(torch.ones(2), 7)
        entry(torch.ones(2), 5)
    guards = "".join(text for kind, text in records if kind == "guards")
    [reason] = [text for kind, text in records if kind == "recompiles"]
    assert "SHAPE_ENV" in guards and "n % 3 == 1" in guards
    assert "n % 3 == 1" in reason


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_registered_backends(backend):
    entry = ferrodyn.compile(lambda x, n: x * n + (n - 1), backend=backend)
    x = torch.ones(2)
    for n in [1, 2, 3, 5, 2]:
        assert torch.equal(entry(x, n), x * n + (n - 1))


def test_a_backend_that_traces_once_more_gets_symbols():
    """What is not the graph itself may hold the example inputs: it gets no ints, but symbols."""
    from torch.fx.experimental.proxy_tensor import make_fx

    handed = []

    def retraced(graph, inputs):
        handed.append([type(i) for i in inputs])
        return make_fx(graph)(*inputs)

    def returned(graph, inputs):
        handed.append([type(i) for i in inputs])
        return graph

    x = torch.ones(2)
    for backend in (retraced, returned):
        handed.clear()
        entry = ferrodyn.compile(lambda x, n: x * n, backend=backend)
        for n in [1, 2, 3, 4, 3, 2]:
            assert torch.equal(entry(x, n), x * n)
        assert len(handed) == 2
    # torch hands its symbols to every backend; here too, once its tracer is loaded.
    assert handed[1] == [torch.Tensor, torch.SymInt]
    handed.clear()
    entry = ferrodyn.compile(lambda x, n: x * n, backend=retraced, dynamic=True)
    for n in [1, 2, 3]:
        assert torch.equal(entry(x, n), x * n)


def test_a_counter_that_many_entries_read():
    """What is remembered of a check must not outlive the int that it was made with."""

    class Holder:
        pass

    def fn(x):
        h.n += 1
        return x + 1 if h.n % 5 else x - 1

    for start in (0, 1000, 2**40, 2**63 - 12):
        h = Holder()
        entry, graphs = counted(fn)
        h.n = start
        for i in range(1, 40):
            expected = 2.0 if (start + i) % 5 else 0.0
            assert entry(torch.ones(1)).item() == expected and h.n == start + i
        assert len(graphs) <= 8


VALUES = [0, 1, -1, 2, 3, -7, 12, 63, 64, 65, 1000, -(2**31), 2**40, 2**62, -(2**63), 2**63 - 1]
LARGE = [2**63, -(2**63) - 1, 2**70, -(2**100)]


def expression(rng, depth):
    """A random expression of a, b and c."""
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(["a", "b", "c", str(rng.choice(VALUES[:11]))])
    left, right = expression(rng, depth - 1), expression(rng, depth - 1)
    kind = rng.random()
    if kind < 0.15:
        return rng.choice(["-{}", "~{}", "abs({})", "+{}"]).format(f"({left})")
    if kind < 0.25:
        return f"{rng.choice(['min', 'max'])}({left}, {right})"
    if kind < 0.33:
        condition = rng.choice(["<", "<=", "==", "!=", ">", ">="])
        return f"(({left}) if a {condition} ({right}) else ({right}))"
    if kind < 0.5:
        operator = rng.choice(["//", "%", "<<", ">>", "**"])
        return f"({left} {operator} ({right} % {rng.choice([3, 5, 9])} + {rng.choice([0, 1])}))"
    return f"({left} {rng.choice(['+', '-', '*', '&', '|', '^'])} {right})"


def outcome(fn, *args):
    try:
        return fn(*args)
    except (ArithmeticError, ValueError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("seed", range(12))
def test_expressions_are_pythons(seed):
    """Random expressions over several values each: results and types are Python's."""
    rng = random.Random(seed)
    for _ in range(6):
        text = expression(rng, 4)
        scope: dict = {}
        source = f"def fn(x, a, b, c):\n    r = {text}\n    return x + 1, r, type(r), r > a\n"
        exec(source, scope)
        fn = scope["fn"]
        with ferrodyn.config.patch(recompile_limit=6):
            entry, _ = counted(fn, dynamic=rng.choice([None, True]))
            for _ in range(10):
                pool = VALUES if rng.random() < 0.8 else LARGE
                args = [rng.choice(pool) for _ in range(3)]
                expected = outcome(fn, 1, *args)
                assert outcome(entry, torch.tensor(1), *args) == expected, (text, args)


def test_every_pair_of_operands():
    """Entries made for one pair of ints, called with others."""

    def fn(x, a, b):
        if b > 0 and a // b > 1:
            return a // b, a % b, a - b
        return a + b, a * b, a ^ b

    entry, _ = counted(fn, dynamic=True)
    for a, b in itertools.product(VALUES + LARGE, repeat=2):
        assert entry(torch.ones(1), a, b) == fn(None, a, b), (a, b)
