"""A backend is handed what torch.compile hands it, field by field, but for what is listed here."""

from __future__ import annotations

import harness
import pytest
import torch

if not harness.REFERENCE:
    import ferrodyn
    import handover
    import handover_programs
pytestmark = [pytest.mark.own, pytest.mark.once, pytest.mark.slow]

#: Fields that differ, and why.
DIFFERENT = {
    "meta of the graph": "torch numbers backends for its own caches, and keeps names for export",
    "placeholder names": "an input is named `x`, where torch names it `l_x_`",
    "placeholder sources": "inputs are told apart by names, which hold in another process too",
    "placeholder source classes": "so each is a local of one namespace",
    "input kinds": "arguments come before what modules hold",
    "keys of tensors": "torch keeps where an input was first met",
    "names": "nodes are named after what they compute, in torch partly after variables",
    "arguments": "what an in-place operation gives is the tensor itself",
    "stack_trace": "torch has none for the node of a layer that is compiled by itself",
    "results": "a tensor that the graph does not change is no result of it",
    "output keys": "torch keeps a time there",
    "parameter sources": "torch has all parameters of the modules that it meets, some by two names",
    "nn_module_stack": "torch calls a layer that is compiled by itself from a function of its own",
    "source_fn_stack": "so that layer has its class there; and names as said of `names`",
    "keys": "so that layer has modules",
}


def _programs():
    return [] if harness.REFERENCE else list(handover_programs.PROGRAMS)


@pytest.fixture(scope="module")
def found():
    """Which fields differ in which programs."""
    fields: dict[str, list[str]] = {}
    for name, make in handover_programs.PROGRAMS.items():
        torch._dynamo.reset()
        theirs = handover.handed(torch.compile, make)
        torch._dynamo.reset()
        ferrodyn.reset()
        ours = handover.handed(ferrodyn.compile, make)
        assert len(ours) == len(theirs), name
        for one, other in zip(ours, theirs, strict=True):
            for field in one:
                if one[field] != other[field]:
                    fields.setdefault(field, []).append(f"{name}: {one[field]} {other[field]}")
    return fields


def test_there_are_forty_programs():
    assert len(_programs()) == 40


def test_fields_are_those_of_torch(found):
    assert {f: texts[:3] for f, texts in found.items() if f not in DIFFERENT} == {}


def test_the_table_says_nothing_that_is_not_so(found):
    assert [field for field in DIFFERENT if field not in found] == []
