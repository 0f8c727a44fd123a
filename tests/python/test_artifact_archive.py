"""One function's kept graphs travel to another folder, and only there: `save` and `load`."""

from __future__ import annotations

import json
import os
import zipfile

import ferrodyn
import pytest
from ferrodyn.exc import ArchiveError
from kept_programs import printed

pytestmark = [pytest.mark.own, pytest.mark.once]

PROGRAM = """\
import functools, json, sys
import torch, ferrodyn
from said_of_artifacts import said

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
    def forward(self, x):
        x = torch.relu(self.linear(x))
        ferrodyn.graph_break()
        return self.after(x)
    def after(self, x):
        ferrodyn.graph_break()
        return torch.sigmoid(x).sum()

class Other(torch.nn.Module):
    def forward(self, x):
        return x.tan()

def other(x):
    return x.cos() * 3

torch.manual_seed(0)
model = Model()
compiled, x = ferrodyn.compile(model), torch.randn(3, 4)
def run():
    loss = compiled(x)
    loss.backward()
    values = [loss.item(), *(p.grad.tolist() for p in model.parameters())]
    return values, ferrodyn.compile(other)(x).tolist(), ferrodyn.compile(Other())(x).tolist()
result = eval(sys.argv[1])
print(json.dumps([result, said]))
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("archive")

    def run(expression, machine):
        return printed(folder, "-c", PROGRAM, expression, FERRODYN_CACHE_DIR=str(folder / machine))

    run.folder = folder
    run.first, said = run("run(), ferrodyn.save(compiled, 'model.zip')", "a")
    assert said == ["an artifact is kept"] * 4
    return run


def test_the_graphs_of_one_function_are_found_on_another_machine(run):
    values, count = run.first
    # Two graphs, and the three parts of the function and its method.
    assert count == 2 + 4
    # Without the file, all of it is compiled.
    assert run("run()", "b") == [values, ["an artifact is kept"] * 4]
    (loaded, found), said = run("ferrodyn.load('model.zip'), run()", "c")
    assert (loaded, found) == (6, values)
    assert said == ["an artifact is used"] * 2 + ["an artifact is kept"] * 2


def test_what_it_was_made_of_has_the_same_graphs(run):
    one = ("other", "ferrodyn.compile(other)", "functools.partial(other)")
    for target in ("model", "model.forward", "Model.forward", *one):
        wanted = 2 if target in one else 6
        assert run(f"run(), ferrodyn.save({target}, 'again.zip')", "a")[0][1] == wanted


@pytest.fixture
def here(monkeypatch, tmp_path):
    monkeypatch.setenv("FERRODYN_CACHE_DIR", str(tmp_path / "here"))
    before, ferrodyn.config.cache = ferrodyn.config.cache, True
    yield tmp_path
    ferrodyn.config.cache = before


def changed(run, to, change):
    """A copy of the archive in which `change` was made to the contents of its files, by name."""
    with zipfile.ZipFile(run.folder / "model.zip") as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    change(files)
    with zipfile.ZipFile(to, "w") as archive:
        for name, contents in files.items():
            archive.writestr(name, contents)
    return to


def test_a_file_of_another_machine_is_not_used(run, here):
    def other_machine(files):
        index = json.loads(files["index.json"])
        index["made by"] += "?"
        files["index.json"] = json.dumps(index)

    with pytest.warns(UserWarning, match="another machine"):
        assert ferrodyn.load(changed(run, here / "other.zip", other_machine)) == 0


def test_a_file_that_has_changed_is_refused_whole(run, here):
    def change_library(files):
        name = next(name for name in files if name.endswith(".so"))
        files[name] = files[name][:-1] + b"?"

    def lose_library(files):
        del files[next(name for name in files if name.endswith(".so"))]

    def lead_away(files):
        index = json.loads(files["index.json"])
        libraries = index["artifacts"][0]["libraries"]
        name, digest = libraries.popitem()
        libraries["../" + name] = digest
        files[f"libraries/../{name}"] = files[f"libraries/{name}"]
        files["index.json"] = json.dumps(index)

    def lose_index(files):
        del files["index.json"]

    for change in (change_library, lose_library, lead_away, lose_index):
        with pytest.raises((ArchiveError, OSError)):
            ferrodyn.load(changed(run, here / "changed.zip", change))
        assert not [path for path in here.glob("here/*") if path.is_dir()]
    (here / "text.zip").write_text("no archive")
    with pytest.raises(ArchiveError):
        ferrodyn.load(here / "text.zip")
    with pytest.raises(FileNotFoundError):
        ferrodyn.load(here / "none.zip")


CAPTURED = """\
import json, logging, sys
import torch, ferrodyn
from part import Base, scaled

said = []
class Said(logging.Handler):
    def emit(self, record):
        said.append(record.getMessage().partition(":")[0])
log = logging.getLogger("ferrodyn.captures")
log.setLevel(logging.DEBUG)
log.addHandler(Said())

class Model(Base):
    def forward(self, x):
        y = scaled(x) if self.training else x
        ferrodyn.graph_break()
        return y.sin()

compiled = ferrodyn.compile(Model(), backend=lambda graph, inputs: graph.forward)
def run():
    return compiled(torch.ones(3)).tolist()
result = eval(sys.argv[1])
print(json.dumps([result, *(said.count(f"a capture is {what}") for what in ("taken", "kept"))]))
"""


def test_captures_are_found_where_the_files_have_the_same_contents(tmp_path):
    (tmp_path / "main.py").write_text(CAPTURED)
    part = tmp_path / "part.py"

    def write(factor, other, at):
        part.write_text(
            f"import torch\n"
            f"def scaled(x):\n    return x * {factor}\n"
            f"class Base(torch.nn.Module):\n    def other(self):\n        return {other}\n"
        )
        os.utime(part, (at, at))

    def run(expression, machine):
        folder = str(tmp_path / machine)
        return printed(
            tmp_path,
            "main.py",
            expression,
            FERRODYN_CACHE_DIR=folder,
            PYTHONPATH=str(tmp_path),
            PYTHONDONTWRITEBYTECODE="1",
        )

    write(2, 2, 1_000_000)
    (values, count), *said = run("run(), ferrodyn.save(compiled, 'model.zip')", "a")
    assert said == [0, count]
    assert count == 2
    write(2, 2, 2_000_000)
    assert run("ferrodyn.load('model.zip'), run()", "b") == [[2, values], 2, 0]
    # What is loaded twice lies there once.
    assert run("ferrodyn.load('model.zip'), run()", "b") == [[2, values], 2, 0]
    # The class is told by its file: that has other contents.
    write(2, 3, 2_000_000)
    assert run("ferrodyn.load('model.zip'), run()", "c") == [[1, values], 1, 1]
    write(3, 2, 2_000_000)
    (loaded, changed), *said = run("ferrodyn.load('model.zip'), run()", "d")
    assert changed != values
    assert (loaded, *said) == (1, 1, 1)


def test_what_can_not_be_saved_says_so(here):
    with pytest.raises(TypeError, match="runs no Python code"):
        ferrodyn.save(len, here / "len.zip")
    assert ferrodyn.save(lambda: None, here / "none.zip") == 0
    assert ferrodyn.load(here / "none.zip") == 0
    ferrodyn.config.cache = False
    with pytest.raises(RuntimeError, match=r"config\.cache is off"):
        ferrodyn.save(lambda: None, here / "off.zip")
