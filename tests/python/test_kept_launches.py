"""How kernels for a GPU are launched again, and which are not: no GPU is needed for that."""

from __future__ import annotations

import types
from typing import Any

import pytest
import torch
from ferrodyn import _artifact, _artifact_gpu, _artifact_state

pytestmark = [pytest.mark.own, pytest.mark.once]

#: What inductor writes for a graph with sizes that change and one kernel.
CODE = """\
import torch
from torch._inductor.async_compile import AsyncCompile
import triton
import triton.language as tl
from torch._inductor.runtime.triton_heuristics import start_graph, end_graph
from torch._C import _cuda_getCurrentRawStream as get_raw_stream
async_compile = AsyncCompile()
doubled = async_compile.triton('doubled', 'the text of it', device_str='cuda')
async_compile.wait(globals())
del async_compile
class Runner:
    def call(self, args):
        size, x = args
        with torch.cuda._DeviceGuard(0):
            doubled.run(x, size, stream=get_raw_stream(0))
        return (x,)
runner = Runner()
call = runner.call
def get_args():
    return [triton.cdiv(3, 2)]
"""


def test_code_loses_what_it_does_not_need_of_triton():
    code, kernels, relied_on = _artifact.stripped(CODE)
    assert relied_on == {}
    assert kernels == ["doubled"]
    assert "import triton" not in code and "the text" not in code and "start_graph" not in code
    assert "doubled = async_compile.triton('doubled')" in code
    assert "_cuda_getCurrentRawStream" in code


def told(meta: dict[str, Any], config: dict[str, int], taken: list[str]) -> dict[str, Any]:
    prefix, grid = _artifact_gpu._grid(meta, config)
    kernel = {
        "name": "k",
        "device": 0,
        "warps": 4,
        "shared": 128,
        "types": "OiOO",
        "taken": taken,
        "prefix": prefix,
        "grid": grid,
        "passed": ["x", "xnumel", "None", "None"],
    }
    _artifact_gpu._only_sizes(kernel)
    return kernel


@pytest.mark.parametrize(
    ("meta", "config", "sizes", "blocks"),
    [
        ({"grid_type": "Grid1D"}, {"XBLOCK": 128}, {"xnumel": 1000}, (8, 1, 1)),
        ({"grid_type": "Grid1D"}, {"XBLOCK": 128}, {"xnumel": 0}, (0, 1, 1)),
        (
            {"grid_type": "Grid2D"},
            {"XBLOCK": 1, "YBLOCK": 16},
            {"xnumel": 7, "ynumel": 33},
            (7, 3, 1),
        ),
        (
            {"grid_type": "Grid2DWithYZOverflow"},
            {"XBLOCK": 8, "YBLOCK": 1},
            {"xnumel": 8, "ynumel": 100_000},
            (1, 50_000, 2),
        ),
        (
            {"grid_type": "SplitScanGrid"},
            {"R0_BLOCK": 256},
            {"xnumel": 5, "r0_numel": 1000},
            (4, 5, 1),
        ),
        (
            {"grid_type": "FixedGrid", "fixed_grid": ["a", "b", "c"]},
            {},
            {"xnumel": 5, "a": 2, "b": 3, "c": 4},
            (2, 3, 4),
        ),
    ],
)
def test_blocks_are_those_of_inductor(meta, config, sizes, blocks):
    launched = []
    kernel = told(meta, config, ["x", *sizes])
    run = _artifact_gpu.launch(kernel, 77, lambda *args: launched.append(args))
    run("tensor", *sizes.values(), stream=5)
    run("tensor", *sizes.values(), 6)
    expected = (77, *blocks, 4, 128, "OiOO", ("tensor", sizes["xnumel"], None, None))
    assert launched == [(*expected, 5), (*expected, 6)]


@pytest.mark.parametrize(
    "blocks", ["__import__('os').getpid()", "x.numel()", "other", "[x][0]", "(lambda: 1)()"]
)
def test_blocks_are_arithmetic_with_what_a_kernel_takes(blocks):
    kernel = {"taken": ["x"], "prefix": [], "grid": [blocks, "1", "1"], "passed": ["x"]}
    with pytest.raises(_artifact.Declined):
        _artifact_gpu._only_sizes(kernel)


class StaticallyLaunchedCudaKernel(types.SimpleNamespace):
    """Stands for torch's class of this name, which needs Triton's kernels."""


def kernel(**choices: Any) -> Any:
    """A kernel as inductor has it, as far as it matters here."""
    config = object()
    binary = StaticallyLaunchedCudaKernel(**choices.pop("binary", {}))
    known: dict[str, Any] = {
        "inductor_meta": {},
        "dump_launch_params": False,
        "dump_launch_tensors": False,
        "triton_interpret": False,
        "launchers": [types.SimpleNamespace(config=config, cache_hash="none of this name")],
        "compile_results": [
            types.SimpleNamespace(config=config, kernel=binary, compile_meta={"device": 0})
        ],
    }
    return types.SimpleNamespace(**known | choices)


@pytest.mark.parametrize(
    ("choices", "why"),
    [
        ({"inductor_meta": {"coordinate_descent_tuning": True}}, "tuned at each start"),
        ({"dump_launch_params": True}, "watched"),
        ({"triton_interpret": True}, "interprets"),
        ({"launchers": []}, "not chosen"),
        ({"compile_results": []}, "tuned further"),
        ({"binary": {"global_scratch_size": 8}}, "memory of its own"),
        ({"binary": {"_has_tensordesc": True}}, "tensor descriptors"),
        ({"binary": {"device_agnostic": True}}, "several devices"),
        ({"binary": {"name": "k", "cubin_raw": None}}, "is not there"),
    ],
)
def test_what_needs_torchs_own_loader_is_declined(monkeypatch, choices, why):
    launcher = types.SimpleNamespace(_load_kernel=None, _launch_kernel=None)
    monkeypatch.setattr(torch._C, "_StaticCudaLauncher", launcher, raising=False)
    with pytest.raises(_artifact.Declined, match=why):
        _artifact_gpu.kept_kernel(kernel(**choices))


def test_a_torch_without_a_launcher_is_declined(monkeypatch):
    monkeypatch.delattr(torch._C, "_StaticCudaLauncher", raising=False)
    with pytest.raises(_artifact.Declined, match="through Triton only"):
        _artifact_gpu.kept_kernel(kernel())


def test_what_is_kept_waits_for_the_choice_of_all_kernels():
    _artifact_gpu.watch()
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner

    class Kernel(CachingAutotuner):
        def __init__(self, count: int) -> None:
            self.launchers = [object()] * count

    told: list[str] = []
    decided, first, second = Kernel(1), Kernel(2), Kernel(3)
    _artifact_gpu.when_decided([decided], lambda: told.append("at once"))
    assert told == ["at once"]
    _artifact_gpu.when_decided([decided, first, second], lambda: told.append("both"))
    assert len(_artifact_gpu._undecided) == 2
    del decided, first, second
    assert not _artifact_gpu._undecided
    assert told == ["at once"]


def test_inputs_are_copied_where_they_do_not_lie_as_kernels_need():
    plain = torch.arange(9.0)
    given = plain[1:].view(2, 4)[:, :3]

    def call(inputs: list[Any]) -> Any:
        (x,) = inputs
        assert x.data_ptr() % 16 == 0 and x.stride() == (4, 1)
        return (x.mul_(2).sum(),)

    (found,) = _artifact_gpu.aligned(call, [0], [0])([given])
    assert found == 48 and plain.tolist() == [0, 2, 4, 6, 4, 10, 12, 14, 8]
    assert _artifact_gpu.aligned(call, [], []) is call


def test_another_gpu_is_told(monkeypatch):
    def described(**changed: Any) -> str | None:
        known = {"name": "one", "major": 9, "minor": 0} | changed
        monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
        monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
        monkeypatch.setattr(
            torch.cuda, "get_device_properties", lambda at: types.SimpleNamespace(**known)
        )
        return _artifact_state.state()

    without = _artifact_state.state()
    assert without is not None
    assert not _artifact_state.tells_gpus({"state": without})
    one = described()
    assert one is not None and _artifact_state.tells_gpus({"state": one})
    assert len({one, described(name="other"), described(major=10), described(minor=1)}) == 4


def test_torchs_own_assembler_is_no_choice(monkeypatch):
    from pathlib import Path

    before = _artifact_state.state()
    assert torch.__file__
    own = Path(torch.__file__).parent / "bin" / "ptxas"
    monkeypatch.setenv("TRITON_PTXAS_PATH", str(own))
    assert _artifact_state.state() == before
    monkeypatch.setenv("TRITON_PTXAS_PATH", "/usr/bin/ptxas")
    assert _artifact_state.state() != before
