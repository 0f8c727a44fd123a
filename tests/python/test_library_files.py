"""Whose a file is decides what is captured: the interpreter says where packages lie."""

import importlib.util

import ferrodyn
import harness
import pytest
import torch

pytestmark = pytest.mark.own

TEXT = """
import torch

def helper(x):
    return x * 2 + 1

def fn(x):
    torch._dynamo.graph_break()
    return [f(x) for f in [helper, helper]]
"""


@pytest.mark.parametrize("folder", ["lib/python3.12/app", "site-packages/app", "app"])
def test_a_program_may_lie_in_any_folder(tmp_path, folder):
    path = tmp_path / folder / "program.py"
    path.parent.mkdir(parents=True)
    path.write_text(TEXT)
    spec = importlib.util.spec_from_file_location("program_elsewhere", path)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)

    # What goes on behind a break is captured where it is the program's.
    with harness.captured_logs("graph") as logs:
        found = ferrodyn.compile(program.fn, backend="eager")(torch.ones(3))
    assert [t.tolist() for t in found] == [[3.0] * 3] * 2
    assert any("mul" in text for _, text in logs)
