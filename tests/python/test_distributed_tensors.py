"""What is distributed over two processes: DTensor, tensor parallelism, FSDP2, DDP.

One program runs in both processes. Each part of it is compared with eager, and its graphs are
counted: as many as torch.compile makes, or fewer.
"""

from __future__ import annotations

import pytest
import torch
from processes import run_in_processes

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not torch.distributed.is_available(), reason="no torch.distributed"),
]

SETUP = """
import os
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import (
    DTensor, Partial, Replicate, Shard, distribute_module, distribute_tensor
)
from torch.distributed.tensor.parallel import (
    ColwiseParallel, RowwiseParallel, SequenceParallel, parallelize_module
)
from torch.nn.parallel import DistributedDataParallel

import ferrodyn

dist.init_process_group("gloo")
RANK = dist.get_rank()
mesh = init_device_mesh("cpu", (dist.get_world_size(),))
graphs = []


def compiling(backend):
    def count(gm, inputs):
        graphs.append(sum(node.op.startswith("call") for node in gm.graph.nodes))
        return gm if backend == "eager" else torch._dynamo.lookup_backend(backend)(gm, inputs)

    return lambda fn: ferrodyn.compile(fn, backend=count)


def data(step, same=False):
    generator = torch.Generator().manual_seed(step if same else 10 * step + RANK)
    return torch.randn(4, 8, generator=generator)


def whole(t):
    return (t.full_tensor() if isinstance(t, DTensor) else t).detach().clone()


def placed(t):
    return tuple(t.placements) if isinstance(t, DTensor) else None


def check(name, program, graphs_of, backends):
    expected = program(lambda fn: fn)
    for backend in backends:
        graphs.clear()
        result = program(compiling(backend))
        assert len(result) == len(expected), name
        for a, b in zip(expected, result):
            if isinstance(a, torch.Tensor):
                torch.testing.assert_close(a, b, msg=f"{name} {backend}")
            else:
                assert a == b, (name, backend)
        assert graphs == graphs_of, (name, backend, graphs)
"""

MODULES = """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])
        self.norm = nn.LayerNorm(8)

    def forward(self, x):
        for block in self.blocks:
            x = x + block(x)
        return self.norm(x)


def made(kind):
    torch.manual_seed(1)
    return kind()


def train(model, call, inputs=data):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    seen = []
    for step in range(3):
        optimizer.zero_grad()
        loss = call(inputs(step)).square().mean()
        loss.backward()
        optimizer.step()
        seen.append(loss.detach().clone())
    return seen + [whole(p) for p in model.parameters()]


def same_data(step):
    return data(step, same=True)


PLAN = {"up": ColwiseParallel(), "down": RowwiseParallel()}


def around(compiled):
    model = DistributedDataParallel(made(Deep))
    return train(model, compiled(model))


def inside(compiled):
    model = made(Deep)
    model.forward = compiled(model.forward)
    model = DistributedDataParallel(model)
    return train(model, model)


def sharded(compiled):
    model = made(Deep)
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return train(model, compiled(model))


def parallel(compiled):
    model = made(Deep)
    for block in model.blocks:
        parallelize_module(block, mesh, PLAN)
    return train(model, compiled(model), same_data)


def parallel_sequence(compiled):
    model = made(lambda: nn.Sequential(nn.LayerNorm(8), Block()))
    plan = {
        "0": SequenceParallel(),
        "1.up": ColwiseParallel(input_layouts=Shard(1)),
        "1.down": RowwiseParallel(output_layouts=Shard(1)),
    }
    parallelize_module(model, mesh, plan)
    part = lambda step: same_data(step).reshape(1, 4, 8).chunk(2, 1)[RANK].contiguous()
    return train(model, compiled(model), part)


def distributed_parameters(compiled):
    model = made(Block)
    into = lambda module, inputs, mesh: (DTensor.from_local(inputs[0], mesh, [Shard(0)]),)
    distribute_module(
        model, mesh, input_fn=into, output_fn=lambda module, out, mesh: out.to_local()
    )
    return train(model, compiled(model))


both = ("eager", "aot_eager")
check("DDP around", around, [9], both)
check("DDP inside", inside, [9], both)
check("FSDP2", sharded, [3, 3], both)
check("tensor parallelism", parallel, [21], both)
check("sequence parallelism", parallel_sequence, [11], both)
check("parameters", distributed_parameters, [5], both)
dist.barrier()
dist.destroy_process_group()
# gloo's threads may abort the process while the interpreter goes.
os._exit(0)
"""

FUNCTIONS = """
def program(fn, *inputs):
    def run(compiled):
        call, seen = compiled(fn), []
        for step in range(2):
            args = [make(step) for make in inputs]
            result = call(*args)
            seen += [whole(result), placed(result)]
            if result.requires_grad:
                whole_result = result.full_tensor() if isinstance(result, DTensor) else result
                whole_result.sum().backward()
                seen += [whole(arg.grad) for arg in args if arg.grad is not None]
        return seen

    return run


local = lambda step: data(step)
grad = lambda step: data(step).requires_grad_()
shard = lambda step: distribute_tensor(data(step, True), mesh, [Shard(0)])
shard_grad = lambda step: shard(step).requires_grad_()
replica = lambda step: distribute_tensor(data(step + 1, True), mesh, [Replicate()])


def point(a):
    return (a * 2 + 1).sin()


def product(a, b):
    return a @ b.t() + 1


def to_local(a):
    return (a * 2).to_local() * 2


def full(a):
    return (a + 1).full_tensor() * 2


def redistributed(a):
    return (a * 3).redistribute(a.device_mesh, [Shard(1)]) * 2


def as_other(a, b):
    return b.redistribute(a.device_mesh, a.placements) * a


def made_inside(x):
    return (DTensor.from_local(x * 2, mesh, [Shard(-1)]) * 2).full_tensor()


def summed(x):
    made = DTensor.from_local(x, mesh, [Partial()])
    return made.redistribute(mesh, (Replicate(),)).to_local()


def by_placement(a):
    return a * 2 if a.placements == (Shard(0),) and a.placements[0].is_shard() else a + 1


def by_mesh(x):
    return x + mesh.get_local_rank() + mesh.size() + mesh.ndim


def held(a):
    return a._local_tensor + 1


def gathered(x):
    reduced = functional.all_reduce(x + 1, "sum", mesh)
    return functional.all_gather_tensor(reduced, 0, (mesh, 0)) * 2


def scattered(x):
    return functional.reduce_scatter_tensor(x + 1, "sum", 0, mesh) * 2


def gathered_with_gradient(x):
    return functional.all_gather_tensor_autograd(x * 2, 0, dist.group.WORLD).sum(0)


both = ("eager", "aot_eager")
check("point", program(point, shard_grad), [3], (*both, "inductor"))
check("product", program(product, shard, replica), [3], both)
check("to_local", program(to_local, shard_grad), [3], both)
check("full_tensor", program(full, shard_grad), [3], both)
check("redistribute", program(redistributed, shard_grad), [3], both)
check("redistribute as another", program(as_other, shard, replica), [2], both)
check("from_local", program(made_inside, grad), [4], both)
check("partial", program(summed, grad), [3], both)
check("placements", program(by_placement, shard), [1], both)
check("mesh", program(by_mesh, local), [3], both)
check("held tensor", program(held, shard), [2], both)
check("collectives of a mesh", program(gathered, local), [6], both)
check("reduce_scatter of a mesh", program(scattered, local), [4], both)
check("collective with a gradient", program(gathered_with_gradient, grad), [4], both)

# Another placement, or an equal one, of a tensor from outside.
graphs.clear()
compiled = compiling("aot_eager")(point)
for placement in (Shard(0), Replicate(), Shard(1), Shard(0)):
    given = distribute_tensor(data(0, True), mesh, [placement])
    assert torch.equal(whole(compiled(given)), whole(point(given)))
    assert placed(compiled(given)) == placed(point(given))
assert graphs == [3, 3, 3], graphs
# A placement as an argument is compared by its value.
graphs.clear()
moved = compiling("aot_eager")(lambda a, to: a.redistribute(placements=[to]) * 2)
for placement in (Shard(0), Shard(1), Shard(0)):
    result = moved(shard(0), placement)
    assert placed(result) == (placement,)
    assert torch.equal(whole(result), data(0, True) * 2)
assert graphs == [2, 2], graphs
# Two graphs serve all sizes: of rows over both processes, and of columns in each.
for backend in both:
    graphs.clear()
    sized = compiling(backend)(lambda a, b: ((a + b).sin() * a.shape[0]).full_tensor())
    for rows, columns in ((4, 8), (6, 6), (10, 2), (8, 12)):
        given = distribute_tensor(torch.arange(rows * columns) / 8, mesh, [Replicate()])
        given = given.view(rows, columns).redistribute(placements=[Shard(0)])
        assert torch.equal(sized(given, given), (given + given).sin().full_tensor() * rows)
    assert graphs == [4, 4], (backend, graphs)
dist.barrier()
dist.destroy_process_group()
# gloo's threads may abort the process while the interpreter goes.
os._exit(0)
"""


@pytest.mark.parametrize("program", [MODULES, FUNCTIONS], ids=["modules", "functions"])
def test_two_processes_compute_what_eager_computes(program: str) -> None:
    """Losses, parameters, gradients and placements are eager's; the graphs are counted."""
    run_in_processes(2, SETUP + program)
