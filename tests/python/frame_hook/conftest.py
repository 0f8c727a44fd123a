"""Modes of running frames, as a fixture, and a check that no test leaves the hook behind."""

import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))

from hook_core import Mode, testing  # noqa: E402


@pytest.fixture(params=["pass", "twin", "detach", "skip"])
def mode(request):
    mode = Mode(request.param)
    with mode.on():
        yield mode


@pytest.fixture(autouse=True)
def hook_is_gone_afterwards():
    yield
    assert testing.hook_state() == (False, 0)
