"""`install`, and whole programs under ``python -m ferrodyn run``."""

from __future__ import annotations

import importlib.util
import inspect
import os
from pathlib import Path

import ferrodyn
import forked
import pytest
import torch
from harness import Counting

pytestmark = [pytest.mark.own, pytest.mark.once]

SCRIPTS = Path(__file__).parents[1] / "scripts"
X = torch.arange(6.0).reshape(2, 3)


def sines(x):
    return x.sin() + 1


def test_installed_for_a_block_or_until_it_is_undone():
    torchs = torch.compile
    with ferrodyn.install():
        assert isinstance(torch.compile(sines, backend="eager"), type(ferrodyn.compile(sines)))
        with ferrodyn.install():
            pass
        assert torch.compile is not torchs
        assert inspect.signature(torch.compile) == inspect.signature(torchs)
        assert torch.compile.__name__ == "compile" and torch.compile.__doc__ == torchs.__doc__
    assert torch.compile is torchs
    ferrodyn.install()
    ferrodyn.uninstall()
    ferrodyn.uninstall()
    assert torch.compile is torchs


def test_every_way_to_torch_compile_is_served():
    import torch._dynamo

    dynamos = torch._dynamo.optimize
    with ferrodyn.install():
        backend = Counting()
        module = torch.nn.Linear(3, 2)
        expected = module(X)
        module.compile(backend=backend)
        assert torch.equal(module(X), expected) and backend.graphs == 1
        for compiled in (
            torch.compile(backend=backend, fullgraph=True)(sines),
            torch.compiler.compile(sines, backend=backend),
            torch._dynamo.optimize(backend)(sines),
            torch._dynamo.optimize_assert(backend)(sines),
        ):
            before = backend.graphs
            ferrodyn.reset()
            assert torch.equal(compiled(X), sines(X))
            assert backend.graphs == before + 1
        assert isinstance(torch._dynamo.explain(sines)(X), ferrodyn.ExplainOutput)
        whole = torch.compile(torch.nn.ReLU(), backend=backend)
        assert isinstance(whole, ferrodyn.OptimizedModule)
    assert torch._dynamo.optimize is dynamos


@pytest.mark.filterwarnings("ignore:.*torch.jit:FutureWarning")
def test_a_module_that_compiles_itself_can_be_scripted():
    class Sines(torch.nn.Module):
        def forward(self, x):
            return x.sin() + 1

    with ferrodyn.install():
        module = Sines()
        module.compile(backend="eager")
        assert torch.equal(module(X), sines(X))
        assert torch.equal(torch.jit.script(module)(X), sines(X))


def test_operators_that_compile_themselves_outside_compiled_code():
    w = torch.full((3,), 10.0)

    def results():
        p, ones = torch.tensor(True), torch.ones(3, 2)
        higher = torch._higher_order_ops
        return [
            torch.cond(p, lambda v: v - w, lambda v: w - v, (torch.arange(3.0),)),
            *higher.while_loop(
                lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), ones)
            ),
            *higher.scan(lambda c, x: (c + x, c * x), torch.zeros(2), ones),
            higher.map(lambda x: x * w, torch.ones(2, 3)),
            torch.vmap(lambda v: torch.cond(v.sum() > 0, torch.sin, torch.cos, (v,)))(X - 2),
        ]

    expected = results()
    with ferrodyn.install():
        found = results()
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


def test_compiled_inside_compiled():
    def outer(x):
        return torch.compile(sines, backend=backend)(x) * 2

    with ferrodyn.install():
        backend = Counting()
        assert torch.equal(torch.compile(outer, backend=backend)(X), sines(X) * 2)
        assert backend.graphs == 1


def test_torchs_reset_resets_both():
    backend = Counting()
    compiled = ferrodyn.compile(sines, backend=backend)
    compiled(X)
    torch.compiler.reset()
    compiled(X)
    assert backend.graphs == 2


def test_the_name_of_a_region_goes_to_the_backend():
    names = []

    def backend(graph, inputs, name=None):
        names.append(name)
        return graph.forward

    ferrodyn.compile(sines, backend=backend, name="waves")(X)
    ferrodyn.compile(sines, backend=backend, name="other")(X)
    ferrodyn.compile(sines, backend=backend)(X)
    assert names == ["waves", "other", None]


def test_the_default_backend_is_torchs():
    backend = Counting()
    torch.compiler.set_default_backend(backend)
    try:
        assert torch.equal(ferrodyn.compile(sines)(X), sines(X))
    finally:
        torch.compiler.set_default_backend(None)
    assert backend.graphs == 1


def test_shapes_by_specification_are_refused_with_what_to_do():
    with pytest.raises(NotImplementedError, match="mark_dynamic"):
        ferrodyn.compile(sines, dynamic_shapes={"x": None})


def python(*arguments, **environment):
    """Runs Python; returns what it writes, and the graphs that Ferrodyn logged."""
    done = forked.run(arguments, env={**os.environ, "FERRODYN_LOGS": "graph_code", **environment})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, done.stderr.count("TRACED GRAPH")


def test_switches_of_the_environment():
    program = (
        "import torch, ferrodyn\n"
        "def backend(graph, inputs):\n    return graph.forward\n"
        "compiled = ferrodyn.compile(lambda x: x.sin() + 1, backend=backend)\n"
        "print(compiled(torch.zeros(2)).tolist())\n"
    )
    switches = ["FERRODYN_DISABLE", "TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE"]
    on, graphs = python("-c", program, **dict.fromkeys(switches, "0"))
    assert graphs == 1
    for switch in switches:
        assert python("-c", program, **{switch: "1"}) == (on, 0)


@pytest.mark.parametrize(
    ("script", "arguments"),
    [("training", ["--steps", "3"]), ("generation", []), ("inference", [5, 6])],
)
def test_scripts_run_unchanged(script, arguments):
    path = SCRIPTS / f"{script}.py"
    expected, none = python(path, *arguments, TORCH_COMPILE_DISABLE="1")
    found, graphs = python("-m", "ferrodyn", "run", path, *arguments)
    assert found == expected and expected.count("\n") >= 2
    assert none == 0 and graphs >= 1


def test_processes_that_a_script_starts_are_served(tmp_path):
    path = SCRIPTS / "distributed.py"
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    expected, _ = python(path, one, TORCH_COMPILE_DISABLE="1")
    found, graphs = python("-m", "ferrodyn", "run", path, other)
    assert found == expected and graphs == 2


def test_a_model_that_compiles_itself():
    if importlib.util.find_spec("transformers") is None:
        pytest.skip("transformers is not installed")
    path = SCRIPTS / "transformers_model.py"
    expected, _ = python(path, TORCH_COMPILE_DISABLE="1")
    found, graphs = python("-m", "ferrodyn", "run", path)
    assert found == expected and graphs >= 1


def test_modules_exit_codes_and_what_the_program_sees(tmp_path):
    (tmp_path / "program.py").write_text(
        "import sys, torch, helper\n"
        "print(__name__, sys.argv[1:], helper.NAME, torch.compile.__module__)\n"
        "sys.exit(len(sys.argv))\n"
    )
    (tmp_path / "helper.py").write_text("NAME = __name__\n")
    for command in (["program.py"], ["-m", "program"]):
        done = forked.run(["-m", "ferrodyn", "run", *command, "--flag", "-m"], cwd=tmp_path)
        assert done.stdout == "__main__ ['--flag', '-m'] helper torch\n", done.stderr
        assert done.returncode == 3
