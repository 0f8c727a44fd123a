"""A few of the programs over sizes; `cargo xtask sizes` runs thousands."""

from __future__ import annotations

import harness
import pytest

if not harness.REFERENCE:
    import size_programs
pytestmark = pytest.mark.own


@pytest.mark.parametrize("seed", [1, 3])
def test_program_at_all_sizes(seed):
    """Values, strides, exceptions and what was changed are eager's at each size."""
    results = size_programs.check(range(seed, seed + 1), "aot_eager")
    assert [one["faults"] for one in results] == [[], []], size_programs.program(seed)


def test_a_program_depends_on_its_seed_alone():
    assert size_programs.program(1) == size_programs.program(1)
    assert size_programs.program(1) != size_programs.program(2)


def test_differences_are_found():
    """The comparison sees a wrong value, type, stride and number."""
    tensor = size_programs._plain
    import torch

    x = torch.ones(2, 3)
    assert not size_programs.difference(tensor(x), tensor(x.clone()))
    for other in (x + 1, x.double(), x.t().contiguous().t(), x[:1], 1, None):
        assert size_programs.difference(tensor(x), tensor(other))
