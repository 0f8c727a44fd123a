"""What a backend changes in the process throws nothing away that it compiled."""

import abc
import collections.abc
import sys
import types

import ferrodyn
import pytest
import torch


class Plain:
    pass


SETTING = types.SimpleNamespace(scale=1)


def changing(change):
    """A backend that changes the process at its first call, and a list of its graphs."""
    graphs = []

    def compile_graph(gm, example_inputs):
        if not graphs:
            change()
        graphs.append(gm)
        return lambda *args: gm.forward(*args)

    return compile_graph, graphs


def register_something():
    class Abstract(abc.ABC):
        pass

    Abstract.register(int)


def kind(x, p):
    if isinstance(p, collections.abc.Mapping):
        return x * 100
    return x + 1


def test_registering_a_class_recompiles_nothing():
    compile_graph, graphs = changing(register_something)
    compiled = ferrodyn.compile(kind, backend=compile_graph)
    x = torch.ones(3)
    for _ in range(3):
        assert compiled(x, Plain()).equal(x + 1)
        register_something()
    assert len(graphs) == 1


def test_registering_the_class_itself_recompiles():
    class Abstract(abc.ABC):
        pass

    class Mine:
        pass

    def called(x, p):
        return x * 100 if isinstance(p, Abstract) else x + 1

    compile_graph, graphs = changing(lambda: None)
    compiled = ferrodyn.compile(called, backend=compile_graph)
    x = torch.ones(3)
    assert compiled(x, Mine()).equal(x + 1)
    Abstract.register(Mine)
    assert compiled(x, Mine()).equal(x * 100)
    assert len(graphs) == 2


def test_a_class_that_the_backend_registers():
    class Abstract(abc.ABC):
        pass

    class Mine:
        pass

    def called(x, p):
        return x * 100 if isinstance(p, Abstract) else x + 1

    compile_graph, graphs = changing(lambda: Abstract.register(Mine))
    compiled = ferrodyn.compile(called, backend=compile_graph)
    x = torch.ones(3)
    # The first graph is for what was true before.
    assert compiled(x, Mine()).equal(called(x, Mine()))
    assert compiled(x, Mine()).equal(x * 100)
    assert len(graphs) == 2


def test_match_statements_and_dispatch_after_a_registration():
    from functools import singledispatch

    @singledispatch
    def scale(p):
        return 2

    scale.register(collections.abc.Mapping)(lambda p: 3)

    def called(x, p):
        match p:
            case [*_]:
                return x
            case _:
                return x * scale(p)

    compile_graph, graphs = changing(register_something)
    compiled = ferrodyn.compile(called, backend=compile_graph)
    x = torch.ones(3)
    assert compiled(x, Plain()).equal(x * 2)
    # The same graph again: the backend is not asked twice.
    assert len(graphs) == 1


def double_the_scale():
    SETTING.scale *= 2


def import_something():
    sys.modules["made_by_a_backend"] = types.ModuleType("made_by_a_backend")


def scaled(x):
    known = "made_by_a_backend" in sys.modules
    return x * SETTING.scale, known


@pytest.mark.parametrize("change", [double_the_scale, import_something])
def test_what_the_function_looks_at_is_looked_at_again(change):
    sys.modules.pop("made_by_a_backend", None)
    SETTING.scale = 1
    compile_graph, graphs = changing(change)
    compiled = ferrodyn.compile(scaled, backend=compile_graph)
    x = torch.ones(3)
    for _ in range(2):
        out, known = compiled(x)
        assert known == ("made_by_a_backend" in sys.modules)
        assert out.equal(x * SETTING.scale)
    count = len(graphs)
    compiled(x)
    assert len(graphs) == count <= 2
