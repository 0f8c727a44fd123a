"""The report of a run in a browser: its script runs, and it asks for nothing that is not in it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import forked
import pytest

#: `cargo xtask test` names one that it has made ready.
BROWSER = os.environ.get("FERRODYN_BROWSER") or next(
    filter(
        None,
        map(shutil.which, ["chromium-headless-shell", "chromium", "google-chrome", "chrome"]),
    ),
    None,
)

pytestmark = [
    pytest.mark.own,
    pytest.mark.once,
    pytest.mark.skipif(BROWSER is None, reason="no browser of Chromium's family was found"),
]


PROGRAM = """\
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(3))
    def forward(self, x, name):
        for layer in self.layers:
            x = layer(x).relu()
        if x.sum() >= 0:
            x = x * len(name)
        return x
compiled = torch.compile(Net(), backend="eager")
for size, name in ((2, "a"), (2, "bc"), (3, "bc")):
    compiled(torch.ones(size, 4), name)
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    program, path = folder / "program.py", folder / "page.html"
    program.write_text(PROGRAM)
    forked.run(["-m", "ferrodyn", "report", "-o", path, program], check=True)
    return path


def browse(page, *, at=""):
    """Return the elements of the page once its script has run, and what the browser reports."""
    profile = page.with_name("profile")
    done = subprocess.run(
        [
            *(BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"),
            # Nothing outside the page can be reached.
            *("--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", "--dump-dom"),
            f"{page.as_uri()}{at}",
        ],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_the_script_draws_the_graphs_and_reports_no_error(page):
    elements, reported = browse(page)
    assert "CONSOLE" not in reported, reported
    drawings = re.findall(r'<div class="drawing".*?</svg>', elements, re.S)
    assert len(drawings) == page.read_text().count("data-graph=")
    assert all("NaN" not in drawing and "undefined" not in drawing for drawing in drawings)
    # Each node is drawn once, and each edge.
    first = drawings[0]
    nodes = re.findall(r"&quot;|<text[^>]*>([^<]*)<", first)
    assert {"linear: linear", "relu: relu", "x"} <= {node for node in nodes if node}
    assert first.count("<path") >= first.count("<rect") - 1


def test_it_shows_causes_before_anything_is_opened(page):
    elements, _ = browse(page)
    for cause in (
        "Graph break 1: Data-dependent branching",
        "if x.sum() &gt;= 0:",
        "What to change:",
        "tensor 'x' size mismatch at index 0. expected 2, actual 3",
        "name == 'a'. expected 'a', actual 'bc'",
    ):
        assert cause in elements
        behind = elements.index(cause)
        before = elements[:behind]
        closed = before.count("<details") - before.count("</details")
        assert closed == 0, f"{cause} is folded away"


def test_a_link_unfolds_what_it_leads_to(page):
    folded, _ = browse(page)
    opened, _ = browse(page, at="#compilation-4")
    of_fourth = r'id="compilation-4"><details( open="")?'
    assert re.search(of_fourth, folded)[1] is None
    assert re.search(of_fourth, opened)[1] == ' open=""'
