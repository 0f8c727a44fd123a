"""The docs: examples run, links lead somewhere, every option of `config` is explained."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import ferrodyn
import pytest
import torch

pytestmark = [pytest.mark.own, pytest.mark.once]

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")

WITH_EXAMPLES = [page for page in sorted(DOCS.glob("*.md")) if BLOCK.search(page.read_text())]


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: page.stem)
def test_examples_run(page, capsys):
    namespace: dict[str, object] = {"__name__": "__main__"}
    torch.manual_seed(0)
    text = page.read_text()
    for block in BLOCK.finditer(text):
        # In its place, so that lines are those of the page.
        code = "\n" * text.count("\n", 0, block.start(1)) + block.group(1)
        exec(compile(code, str(page), "exec"), namespace)
    del capsys


def pages() -> list[Path]:
    others = [ROOT / "tests" / "README.md", ROOT / "examples" / "README.md"]
    return [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md")), *others]


def test_links_lead_somewhere():
    dead = []
    for page in pages():
        text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        for link in LINK.findall(re.sub(r"`[^`]*`", "", text)):
            target = link.split("#")[0]
            if target and "://" not in target and not (page.parent / target).exists():
                dead.append(f"{page.relative_to(ROOT)}: {link}")
    assert not dead


def test_every_page_is_in_the_site():
    listed = "\n".join(page.read_text() for page in (DOCS / "index.md", DOCS / "breaks/README.md"))
    for page in [*DOCS.glob("*.md"), *(DOCS / "breaks").glob("*.md")]:
        assert page.name == "index.md" or page.stem in listed, page.name


def options() -> dict[str, tuple[str, str]]:
    """What is said of each option in the source of `config`: its type and its comment."""
    text = (ROOT / "python/ferrodyn/config.py").read_text()
    found, comment = {}, []
    for line in text[text.index("if TYPE_CHECKING:") : text.index("_NAMES")].splitlines():
        line = line.strip()
        if line.startswith("#:"):
            comment.append(line.removeprefix("#:").strip())
        elif match := re.fullmatch(r"(\w+): (\w+)", line):
            found[match[1]] = (match[2], " ".join(comment))
            comment = []
    return found


def options_page() -> str:
    # The tests switch the cache off.
    defaults = ferrodyn.config.to_dict() | {"cache": True}
    lines = [
        "# Options",
        "",
        "Of `ferrodyn.config`: attributes that are read and set, for the whole process; "
        "`ferrodyn.config.patch(name=value)` sets them for a `with` block or a decorated function. "
        "The same names of `torch._dynamo.config` hold where these were not changed. This page is "
        "generated (`pytest -k options --bless`).",
        "",
        "| option | type | default | |",
        "|---|---|---|---|",
    ]
    for name, (kind, text) in options().items():
        text = text.replace("``", "`")
        lines.append(f"| `{name}` | `{kind}` | `{defaults[name]!r}` | {text} |")
    return "\n".join([*lines, ""])


def test_every_option_has_a_type_a_comment_and_a_row(request):
    found = options()
    values = ferrodyn.config.to_dict()
    assert {name: type(value).__name__ for name, value in values.items()} == {
        name: kind for name, (kind, _) in found.items()
    }
    assert all(comment for _, comment in found.values())
    page = DOCS / "options.md"
    if request.config.getoption("--bless"):
        page.write_text(options_page())
    assert page.read_text() == options_page()


EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_programs_of_the_examples_run(path):
    runpy.run_path(str(path), run_name="__main__")
    assert f"[{path.name}]" in (ROOT / "examples/README.md").read_text()
