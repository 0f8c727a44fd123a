"""Options and fixtures of the Python tests."""

from __future__ import annotations

import os
import signal
import sys

# Before anything of Ferrodyn is there: what is kept of earlier runs is for the tests that say so.
os.environ.setdefault("FERRODYN_CACHE", "0")

import harness
import pytest
import torch


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="rewrite tests/snapshots")
    parser.addoption(
        "--reference",
        action="store_true",
        help="run the programs under torch.compile instead, to test the tests themselves",
    )
    parser.addoption(
        "--backend",
        help="compile the cases with this backend, and compare with eager what they do: aot_eager",
    )
    parser.addoption("--device", help="make the programs and their arguments there: cuda")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes seconds; not on each Python")
    config.addinivalue_line("markers", "own: about Ferrodyn's own interface, not for --reference")
    config.addinivalue_line("markers", "once: asks nothing of the interpreter, one is enough")
    # A shell starts what runs in the background with the signal ignored, and children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    harness.REFERENCE = config.getoption("--reference")
    harness.BACKEND = config.getoption("--backend")
    if harness.BACKEND:
        import torch._functorch.config

        # Cases go backward from each of their results: what AOTAutograd keeps has to stay.
        torch._functorch.config.donated_buffer = False
    if device := config.getoption("--device"):
        harness.DEVICE = torch.device(device)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--reference"):
        skip = pytest.mark.skip(reason="not about torch.compile")
        for item in items:
            if item.get_closest_marker("own"):
                item.add_marker(skip)


def _state() -> dict[str, object]:
    """What a test may change for all that come behind it."""
    numpy = sys.modules.get("numpy")
    return {
        "grad mode": torch.is_grad_enabled(),
        "inference mode": torch.is_inference_mode_enabled(),
        "default dtype": torch.get_default_dtype(),
        "autocast": (torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")),
        "what NumPy does with floats": numpy and numpy.geterr(),
        "calls of modules": (torch.nn.Module.__call__, torch.nn.Module.__getattr__),
        "hooks of all modules": torch.nn.modules.module._has_any_global_hook(),
        "modes": (torch._C._len_torch_function_stack(), torch._C._len_torch_dispatch_stack()),
        "tracing": (torch._C._is_tracing(), torch.compiler.is_compiling()),
        "handler of interrupts": signal.getsignal(signal.SIGINT),
    }


@pytest.fixture(autouse=True)
def _fresh() -> object:
    """Each test starts with nothing compiled, and leaves the process as it was."""
    harness.reset()
    before = _state()
    yield
    harness.reset()
    after = _state()
    assert {name: value for name, value in after.items() if value != before[name]} == {}
