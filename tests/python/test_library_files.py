"""Whose a file is decides what is captured: the interpreter says where packages lie."""

import importlib.util
import json
import os

import ferrodyn
import forked
import harness
import pytest
import torch

pytestmark = [pytest.mark.own, pytest.mark.once]

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


def test_a_package_in_editable_form_is_a_library(tmp_path):
    project, site = tmp_path / "project", tmp_path / "site"
    metadata = site / "tool-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "top_level.txt").write_text("tool\n")
    origin = {"url": project.as_uri(), "dir_info": {"editable": True}}
    (metadata / "direct_url.json").write_text(json.dumps(origin))
    (project / "src" / "tool").mkdir(parents=True)
    for name in ("src/tool/__init__.py", "src/tool/part.py", "train.py"):
        (project / name).write_text("")
    # What a package does when it is imported does not depend on when that is.
    script = (
        "import torch, ferrodyn, tool\n"
        "def of_a_package(x):\n    import tool.part\n    return x + 1\n"
        "def of_the_program(x):\n    import train\n    return x + 1\n"
        "for fn in of_a_package, of_the_program:\n"
        "    print(ferrodyn.explain(fn)(torch.ones(2)).graph_break_count)\n"
    )
    path = [str(site), str(project / "src"), str(project)]
    result = forked.run(["-c", script], env={**os.environ, "PYTHONPATH": os.pathsep.join(path)})
    assert result.stdout == "0\n1\n", result.stderr
