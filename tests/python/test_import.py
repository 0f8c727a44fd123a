"""What importing ferrodyn costs and brings along."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.own, pytest.mark.once]


def run(code: str, *flags: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, *flags, "-c", code], capture_output=True, text=True, timeout=300
    )


def test_neither_the_tracer_of_torch_nor_sympy_is_imported():
    result = run(
        "import torch, sys; before = set(sys.modules); import ferrodyn;"
        "new = set(sys.modules) - before;"
        "print(sorted(m for m in sys.modules if m == 'sympy' or m.startswith('torch._dynamo')));"
        "print(sorted(m for m in new if not m.startswith('ferrodyn')))"
    )
    assert result.returncode == 0, result.stderr
    tracer, new = result.stdout.splitlines()
    assert tracer == "[]"
    assert len(eval(new)) <= 10, new


def test_compiling_with_a_callable_imports_no_other_package():
    """Importing a module of another package takes as long as tracing a model."""
    result = run(
        "import torch, ferrodyn, sys\n"
        "net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())\n"
        "f = ferrodyn.compile(net, backend=lambda gm, inputs: gm.forward)\n"
        "before = set(sys.modules); f(torch.ones(3)); f(torch.ones(3))\n"
        "print([m for m in sys.modules if m == 'sympy' or m == 'torch._dynamo'])\n"
        "known = {'torch', *sys.stdlib_module_names}\n"
        "print([m for m in set(sys.modules) - before if m.partition('.')[0] not in known])"
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == ["[]", "[]"]


def test_import_adds_at_most_30_ms():
    """Cumulative time of `ferrodyn` less that of torch, the best of a few runs."""
    best = float("inf")
    for _ in range(5):
        result = run("import torch; import ferrodyn", "-X", "importtime")
        assert result.returncode == 0, result.stderr
        match = re.search(r"\|\s+(\d+) \| ferrodyn$", result.stderr, re.MULTILINE)
        best = min(best, int(match.group(1)))
        if best <= 30_000:
            return
    pytest.fail(f"import ferrodyn took {best} us after import torch")


def test_import_without_torch_says_so():
    result = run(
        "import sys\n"
        "class Block:\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'torch': raise ModuleNotFoundError('no', name='torch')\n"
        "sys.meta_path.insert(0, Block())\n"
        "import ferrodyn\n"
    )
    assert result.returncode != 0
    assert "UnsupportedTorchError" in result.stderr and "pip install torch" in result.stderr


def test_import_with_an_old_torch_says_so():
    result = run("import torch; torch.__version__ = '2.3.1'; import ferrodyn")
    assert result.returncode != 0
    assert "UnsupportedTorchError" in result.stderr and "2.3.1" in result.stderr
