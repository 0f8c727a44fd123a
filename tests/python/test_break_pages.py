"""The programs of docs/breaks break, and what their pages say to write instead does not."""

from __future__ import annotations

import json

import break_pages
import ferrodyn
import pytest
import torch

pytestmark = [pytest.mark.own, pytest.mark.once]


def equal(a, b):
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(equal, a, b))
    return torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b


@pytest.mark.parametrize("name", break_pages.programs())
def test_what_to_write_instead(name):
    module = break_pages.load(name)
    expected = module.fn(*module.inputs())
    compiled = ferrodyn.compile(module.instead, backend="eager", fullgraph=True)
    assert equal(compiled(*module.inputs()), expected)


def test_the_pages_are_what_ferrodyn_says(request):
    names = break_pages.programs()
    modules = {name: break_pages.load(name) for name in names}
    reasons = {}
    for name, module in modules.items():
        out = ferrodyn.explain(module.fn)(*module.inputs())
        assert out.break_reasons, f"{name} does not break"
        reasons[name] = out.break_reasons[0]
        assert reasons[name].explanation and reasons[name].hints, name
    bless = request.config.getoption("--bless")
    if bless:
        said = {name: break_pages.said_by_torch(module) for name, module in modules.items()}
        said["python"] = break_pages.python()
        break_pages.BESIDE.write_text(json.dumps(said, indent=1) + "\n")
    of_torch = break_pages.beside()
    if of_torch["python"] != break_pages.python():
        pytest.skip("the pages are made on another Python, whose names they have")
    titles = {name: (modules[name].__doc__, reasons[name].reason) for name in names}
    pages = {name: break_pages.page(name, modules[name], reasons[name]) for name in names}
    pages["README"] = break_pages.index(titles, of_torch)
    pages["reasons"] = break_pages.reasons_page()
    break_pages.PAGES.mkdir(exist_ok=True)
    if bless:
        for path in break_pages.PAGES.glob("*.md"):
            path.unlink()
        for name, text in pages.items():
            (break_pages.PAGES / f"{name}.md").write_text(text)
    found = {path.stem: path.read_text() for path in break_pages.PAGES.glob("*.md")}
    assert found == pages
