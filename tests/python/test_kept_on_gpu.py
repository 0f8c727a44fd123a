"""What inductor made for a GPU serves later processes, without torch's compiler and Triton."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from kept_programs import printed

pytestmark = [
    pytest.mark.own,
    pytest.mark.once,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU"),
]

#: What is not kept.
NOT_KEPT = {"cuda_graphs"}
#: Torch 2.11 launches a kernel of this through Triton.
MAY_NOT_BE_KEPT = {"convolved"}
#: torch's compiler is imported for its check of options, and by attention's gradient.
IMPORTING = {"chosen_products", "cuda_graphs", "attended"}


def test_a_second_process_computes_the_same_without_the_compiler(tmp_path):
    def run():
        return printed(tmp_path, Path(__file__).with_name("kept_on_gpu.py"))

    first, second = run(), run()
    assert {name: made for name, (made, _, _) in first.items()} == {
        name: made for name, (made, _, _) in second.items()
    }
    for name, (_, said, _) in first.items():
        if name not in MAY_NOT_BE_KEPT:
            is_kept = name not in NOT_KEPT
            expected = "an artifact is kept" if is_kept else "a graph's artifact is not kept"
            assert set(said) == {expected}, (name, said)
    for name, (_, said, imported) in second.items():
        if name not in NOT_KEPT | MAY_NOT_BE_KEPT:
            assert set(said) == {"an artifact is used"}, (name, said)
            assert not imported or name in IMPORTING, (name, imported)
