"""What is said where compiled code cannot be reused."""

from __future__ import annotations

import copy
import logging

import harness
import pytest
import torch

if not harness.REFERENCE:
    import ferrodyn
pytestmark = pytest.mark.own


@pytest.fixture(autouse=True)
def _ints_are_constants():
    with ferrodyn.config.patch(automatic_dynamic_shapes=False):
        yield


def backend(graph, inputs):
    return graph.forward


def test_the_limit_names_the_guard_that_failed_most(caplog):
    def fn(x, n):
        return x * n

    entry = ferrodyn.compile(fn, backend=backend)
    x = torch.ones(2)
    with ferrodyn.config.patch(recompile_limit=3), caplog.at_level(logging.WARNING, "ferrodyn"):
        for n in range(6):
            assert torch.equal(entry(x, n), x * n)
    [warning] = [r.getMessage() for r in caplog.records if "recompile_limit" in r.getMessage()]
    # The first entry was tried in vain by the second, third and fourth call.
    assert "most frequent: " in warning and "L['n'] == 0 failed 3 times" in warning
    assert "config.recompile_limit (3)" in warning


def test_beyond_the_limit_calls_are_plain_and_right():
    made = []

    def counting(graph, inputs):
        made.append(graph)
        return graph.forward

    entry = ferrodyn.compile(lambda x, n: x + n, backend=counting)
    x = torch.ones(2)
    with ferrodyn.config.patch(recompile_limit=2):
        for _ in range(3):
            for n in range(5):
                assert torch.equal(entry(x, n), x + n)
    assert len(made) == 2


@pytest.mark.parametrize("fullgraph", [False, True])
def test_where_the_limit_is_an_error_every_call_beyond_it_raises(fullgraph):
    entry = ferrodyn.compile(lambda x, n: x + n, backend=backend, fullgraph=fullgraph)
    x = torch.ones(2)
    with ferrodyn.config.patch(recompile_limit=2, fail_on_recompile_limit_hit=not fullgraph):
        entry(x, 0), entry(x, 1)
        for n in (2, 3, 2):
            with pytest.raises(ferrodyn.exc.FailOnRecompileLimitHit, match="n"):
                entry(x, n)
        assert torch.equal(entry(x, 1), x + 1)


def test_the_accumulated_limit_counts_entries_that_died():
    entry = ferrodyn.compile(lambda x, f: f(x), backend=backend)
    x, made = torch.ones(2), []

    def use():
        def f(x):
            return x + len(made)

        made.append(1)
        return entry(x, f)

    with ferrodyn.config.patch(accumulated_recompile_limit=3):
        for _ in range(5):
            use()
        with ferrodyn.config.patch(fail_on_recompile_limit_hit=True):
            with pytest.raises(
                ferrodyn.exc.FailOnRecompileLimitHit, match="accumulated_recompile_limit"
            ):
                use()


def test_the_log_has_a_reason_for_every_entry_that_was_tried(caplog):
    entry = ferrodyn.compile(lambda x, n: x * n, backend=backend)
    logger = logging.getLogger("ferrodyn.recompiles")
    with caplog.at_level(logging.DEBUG, logger.name):
        logger.propagate = True
        for n in range(4):
            entry(torch.ones(2), n)
    texts = [r.getMessage() for r in caplog.records if "Recompiling" in r.getMessage()]
    assert [text.count("    - ") for text in texts] == [1, 2, 3]
    assert "expected 0, actual 3" in texts[-1] and "expected 2, actual 3" in texts[-1]


def test_a_guard_fail_fn_hears_of_every_failure():
    heard = []
    fn = ferrodyn.optimize(backend, guard_fail_fn=heard.append)(lambda x, n: x + n)
    x = torch.ones(2)
    with ferrodyn.config.patch(recompile_limit=2):
        for n in range(5):
            fn(x, n)
    assert len(heard) == 0 + 1 + 2 + 2 + 2
    assert all("n" in failure.reason for failure in heard)


def test_explain_counts_guard_failures():
    def inner(x, n):
        return x * n

    def fn(x):
        for n in range(3):
            print(end="")
            x = scaled(x, n)
        return x

    scaled = ferrodyn.disable(lambda x, n: entry(x, n))
    entry = ferrodyn.compile(inner, backend=backend)
    output = ferrodyn.explain(fn)(torch.ones(2))
    assert sum(output.guard_failures.values()) >= 2
    assert "Guard Failures:" in str(output)
    assert not ferrodyn.explain(lambda x: x + 1)(torch.ones(2)).guard_failures


class Config(dict):
    __getattr__ = dict.__getitem__


def wrong_sizes(x, config):
    return (torch.matmul(x, torch.ones(3, 3)) + 1) * 2


def missing_key(x, config):
    return x * config["scale"] + 1


def missing_attribute(x, config):
    return (x + 1) * config.scale


def raised(x, config):
    if x.shape[-1] != 3:
        raise ValueError(x.shape)
    return x + 1


def caught(x, config):
    try:
        scale = config.scale
    except KeyError:
        scale = 1
    return x * scale * config["scale"]


@pytest.mark.parametrize("fn", [wrong_sizes, missing_key, missing_attribute, raised, caught])
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("dynamic", [None, False])
def test_a_call_that_raises_does_not_split_the_graphs_of_others(fn, nested, dynamic):
    program = (lambda x, config: max([x], key=lambda x: fn(x, config).sum()) + 1) if nested else fn
    good, bad = (torch.ones(2, 3), Config(scale=2)), (torch.ones(2, 4), Config())

    def graphs_of_good(calls):
        recorder = harness.Recorder()
        harness.reset()
        entry = ferrodyn.compile(program, backend=recorder, dynamic=dynamic)
        for _ in range(calls):
            with pytest.raises((RuntimeError, KeyError, ValueError)):
                entry(*bad)
        recorder.graphs.clear()
        for _ in range(2):
            assert torch.equal(entry(*good), program(*good))
        return recorder.ops()

    with ferrodyn.config.patch(automatic_dynamic_shapes=True):
        assert graphs_of_good(2) == graphs_of_good(0)


def callee(x, word):
    return x * len(word)


def caller(x, word):
    return callee(x, word) + len(word)


def breaking(x, word):
    x = callee(x, word)
    torch._dynamo.graph_break()
    return caller(x, word)


class Inner(torch.nn.Module):
    def forward(self, x, word):
        return x + len(word)


class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([Inner(), Inner()])

    def forward(self, x, word):
        for layer in self.layers:
            x = layer(x, word)
        return x


@pytest.mark.parametrize("make, graphs", [(lambda: caller, 3), (Outer, 3), (lambda: breaking, 6)])
def test_beyond_the_limit_callees_are_not_compiled_up_to_theirs(make, graphs):
    import torch._dynamo  # for its `graph_break`

    made = []

    def counting(graph, inputs):
        made.append(graph)
        return graph.forward

    plain = make()
    entry = ferrodyn.compile(plain, backend=counting)
    x = torch.ones(2)
    with ferrodyn.config.patch(recompile_limit=3):
        for n in range(9):
            word = "a" * n
            assert torch.equal(entry(x, word), plain(x, word))
    assert len(made) == graphs


def test_beyond_the_limit_compiled_callees_are_used_and_compiled_functions_compiled():
    made = []

    def counting(graph, inputs):
        made.append(graph)
        return graph.forward

    inner = ferrodyn.compile(lambda x, word: x * len(word), backend=counting)

    @torch._dynamo.disable(recursive=False)
    def not_inlined(x, word):
        return inner(x, word)

    def fn(x, word):
        return not_inlined(x + len(word), word)

    entry = ferrodyn.compile(fn, backend=counting)
    x = torch.ones(2)
    with ferrodyn.config.patch(recompile_limit=2):
        for n in range(2):
            entry(x, "a" * n)
        before = len(made)
        ferrodyn.config.recompile_limit = 4
        inner(x, "cold")
        ferrodyn.config.recompile_limit = 2
        # `fn` is over its limit; what it calls is a region of its own, which is not.
        assert len(made) == before + 1
        assert torch.equal(entry(x, "cold"), (x + 4) * 4)
    assert len(made) == before + 1


def test_a_limit_and_compiled_code_of_their_own():
    made = []

    def counting(graph, inputs):
        made.append(graph)
        return graph.forward

    def fn(x, word):
        return x * len(word)

    def graphs(entry):
        made.clear()
        for n in range(6):
            assert torch.equal(entry(torch.ones(2), "a" * n), torch.ones(2) * n)
        return len(made)

    assert graphs(ferrodyn.compile(fn, backend=counting, recompile_limit=2)) == 2
    assert graphs(ferrodyn.compile(fn, backend=counting, recompile_limit=5)) == 5
    alone = ferrodyn.compile(fn, backend=counting, recompile_limit=5, isolate_recompiles=True)
    assert graphs(alone) == 5
    # Those with the same choices share what is compiled while one of them is alive.
    shared = ferrodyn.compile(fn, backend=counting)
    assert graphs(shared) == 6
    assert graphs(ferrodyn.compile(fn, backend=counting)) == 0
    with pytest.raises(ferrodyn.exc.FailOnRecompileLimitHit):
        graphs(ferrodyn.compile(fn, backend=counting, recompile_limit=1, fullgraph=True))


def test_no_backend_is_the_default_one():
    def fn(x):
        return x + 1

    assert ferrodyn.compile(fn, backend=None).__wrapped__ is fn
    options = ferrodyn.compile(torch.nn.ReLU(), backend=None)._compile_kwargs
    assert options["backend"] == "inductor"


def distinct(x, *modules):
    return x * len(set(modules)), [p + x for m in modules for p in m.parameters()]


@pytest.mark.parametrize("kept", [True, False], ids=["kept", "dropped"])
def test_modules_that_are_keys_are_no_constants(kept):
    recorder = harness.Recorder()
    compiled = ferrodyn.compile(distinct, backend=recorder)
    alive, x = [], torch.ones(())
    for _ in range(6):
        modules = [torch.nn.Linear(1, 1), torch.nn.ReLU(), torch.nn.Linear(1, 1)]
        harness.assert_same(distinct(x, *modules), compiled(x, *modules))
        alive.extend(modules if kept else [])
    # That modules change is remembered with the code, so that it may be known from the other run.
    assert len(recorder.graphs) <= 2
    one, other = torch.nn.Linear(1, 1), torch.nn.Linear(1, 1)
    for modules in ([one, one, other], [one, other, one], [one, other, other], [one, one, one]):
        harness.assert_same(distinct(x, *modules), compiled(x, *modules))
    groups = {one: "one"}

    def known(x, module):
        return x * (groups.get(module) == "one")

    compiled = ferrodyn.compile(known, backend=recorder)
    for module in (other, one, torch.nn.Linear(1, 1), other, one, torch.nn.Linear(1, 1)):
        assert compiled(x, module) == known(x, module)


def test_a_copy_of_a_module_in_each_call_is_compiled_once():
    def adapted(x, module):
        own = copy.deepcopy(module)
        torch._dynamo.graph_break()
        return sum((x * p).sum() for p in own.parameters())

    recorder = harness.Recorder()
    compiled = ferrodyn.compile(adapted, backend=recorder)
    module = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Linear(1, 1))
    for _ in range(6):
        harness.assert_same(adapted(torch.ones(2), module), compiled(torch.ones(2), module))
    assert len(recorder.graphs) == 3
