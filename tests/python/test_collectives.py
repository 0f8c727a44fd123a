"""Collectives of torch.distributed: operators of the graph, in one process and in two."""

from __future__ import annotations

import pytest
import torch
from processes import run_in_processes

pytestmark = [
    pytest.mark.own,
    pytest.mark.once,
    pytest.mark.skipif(not torch.distributed.is_available(), reason="no torch.distributed"),
]

PROGRAM = """
import sys

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch._dynamo.backends.debugging import aot_eager

import ferrodyn

dist.init_process_group("gloo")
RANK, WORLD = dist.get_rank(), dist.group.WORLD


def reduced(x):
    return functional.all_reduce(x + 1, "sum", WORLD) * 2


def gathered(x):
    return functional.all_gather_tensor(x + 1, 0, WORLD) * 2


def scattered(x):
    return functional.reduce_scatter_tensor(x + 1, "sum", 0, WORLD) * 2


def in_place(x):
    y = x + dist.get_rank()
    dist.all_reduce(y)
    dist.all_reduce(y, dist.ReduceOp.MAX, group=WORLD)
    return y * dist.get_world_size()


def into_tensors(x):
    y = x + 1
    whole = torch.empty(y.shape[0] * dist.get_world_size(), *y.shape[1:])
    dist.all_gather_into_tensor(whole, y)
    part = torch.empty_like(y)
    dist.reduce_scatter_tensor(part, whole)
    parts = [torch.empty_like(y) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, part)
    return whole, part, parts


def same(a, b):
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and all(map(same, a, b))
    return torch.equal(a, b)


for backend in ("eager", aot_eager):
    for fn in (reduced, gathered, scattered, in_place, into_tensors):
        graphs = []

        def counting(gm, inputs):
            graphs.append(gm)
            return gm if backend == "eager" else backend(gm, inputs)

        compiled = ferrodyn.compile(fn, backend=counting, fullgraph=True)
        for _ in range(2):
            x = torch.arange(8.0).reshape(4, 2) + RANK
            assert same(fn(x), compiled(x)), fn.__name__
        names = {str(node.target) for node in graphs[-1].graph.nodes}
        assert any("_c10d_functional.wait_tensor" in name for name in names), names

dist.destroy_process_group()
"""


@pytest.mark.parametrize("processes", [1, 2])
def test_collectives_are_operators_of_the_graph(processes: int) -> None:
    """What each process computes is eager's, in one graph with the collectives inside."""
    run_in_processes(processes, PROGRAM)
