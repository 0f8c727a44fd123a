"""What AOTAutograd made for `aot_eager` serves later processes, without torch's compiler."""

from __future__ import annotations

import pytest
from kept_programs import printed

pytestmark = [pytest.mark.own, pytest.mark.once]

PROGRAM = """\
import json, sys
import numpy, torch
from said_of_artifacts import said
import ferrodyn

backend = sys.argv[1]

def values(*tensors):
    return [t.detach().double().tolist() for t in tensors]

torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Linear(4, 6), torch.nn.GELU(), torch.nn.Dropout(0.4), torch.nn.BatchNorm1d(6)
)
compiled = ferrodyn.compile(model, backend=backend)
results = []
for size in 3, 5, 6:
    y = compiled(torch.randn(size, 4))
    loss = y.square().sum()
    if size == 3:
        # Whether its first backward pass gives anything away is not known when it is kept.
        loss.backward(retain_graph=True)
    loss.backward()
    results += values(y, *[p.grad for p in model.parameters()], *model.buffers())

@ferrodyn.compile(backend=backend)
def views(a, b):
    a.add_(1)
    made = torch.zeros(a.shape[0], dtype=torch.float64, device=a.device)
    largest = torch.where(b > 0, b, float("inf")).min()
    return a[1:], a.t(), a, largest, made - float("inf"), a.shape[0] * 2

@ferrodyn.compile(backend=backend)
def constants(x):
    scaled = x + torch.tensor([1, 2, 3]) * torch.tensor(0.5)
    return scaled, torch.tensor([True, False])

@ferrodyn.compile(backend=backend)
def attributes(x):
    return x.T @ x.mT, getattr(x, "real"), torch.ops.aten.add.Tensor(x, x), torch.ops.aten.mul(x, 2)

@ferrodyn.compile(backend=backend)
def arrays(array):
    return numpy.add(array, 1) * array.sum(axis=0) + numpy.linalg.norm(array)

for _ in range(2):
    results += values(*constants(torch.ones(3)), *attributes(torch.ones(3, 3)))
    results += arrays(numpy.ones((2, 3))).tolist()

for size in 3, 4, 5:
    a = torch.arange(size * size, dtype=torch.float32).reshape(size, size)
    with torch.no_grad():
        row, turned, same, *others, number = views(a, torch.linspace(-1, 1, size))
    assert same is a and turned._base is a._base and number == 2 * size
    row.zero_()
    results += values(a, *others[:1]) + [str(others[1])]
a = torch.ones(3, 3, requires_grad=True)
made = views(a * 2, torch.ones(3))
(made[0].sin().sum() + made[1].sum() + made[3]).backward()
results += values(a.grad)
loaded = [name for name in ("torch._dynamo", "torch._inductor", "sympy") if name in sys.modules]
print(json.dumps([results, said, loaded]), flush=True)
"""


def in_two_processes(folder, backend):
    program = folder / "program.py"
    program.write_text(PROGRAM)
    return printed(folder, program, backend), printed(folder, program, backend)


@pytest.mark.parametrize("backend", ["aot_eager", "aot_eager_decomp_partition"])
def test_a_second_process_computes_the_same_without_the_compiler(tmp_path, backend):
    (first, kept, _), (second, used, loaded) = in_two_processes(tmp_path, backend)
    assert kept == ["an artifact is kept"] * 8
    assert used == ["an artifact is used"] * 8
    assert second == first
    # torch's own operators of the namespace prims import it when they run.
    assert loaded == [] or backend != "aot_eager"


NOT_KEPT = """\
import json
import torch
from said_of_artifacts import said
import ferrodyn

library = torch.library.Library("kept_graphs", "DEF")
library.define("twice(Tensor x) -> Tensor")
library.impl("twice", lambda x: x * 2, "CompositeImplicitAutograd")
x = torch.ones(3)
for fn in (
    lambda x: torch.ops.kept_graphs.twice(x) + 1,
    lambda x: torch.tensor([[1.0, 2.0] * 4000]) + x[0],
):
    for _ in range(2):
        ferrodyn.reset()
        torch.testing.assert_close(ferrodyn.compile(fn, backend="aot_eager")(x), fn(x))

def fn(x):
    return x.sin() * 2

# Another backend makes something else of the same graph, and so does one with another compiler.
from torch._dynamo.backends.debugging import aot_eager

for backend in ("aot_eager", "aot_eager_decomp_partition", aot_eager):
    ferrodyn.reset()
    torch.testing.assert_close(ferrodyn.compile(fn, backend=backend)(x), fn(x))
print(json.dumps(said))
"""


def test_what_is_not_only_torchs_operators_is_compiled_again(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(NOT_KEPT)
    said = printed(tmp_path, program)
    assert "an artifact is used" not in said
    assert said[-2:] == ["an artifact is kept"] * 2
    assert not any("is kept" in text for text in said[:-2])


CUSTOM = """\
import json, os
import torch
from said_of_artifacts import said
import ferrodyn

FACTOR = float(os.environ["FACTOR"])

@torch.library.custom_op("kept_graphs::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2

@torch.library.custom_op("kept_graphs::thrice", mutates_args=())
def thrice(x: torch.Tensor) -> torch.Tensor:
    return x * 3

twice.register_fake(torch.empty_like)
thrice.register_fake(torch.empty_like)
# What differentiates an operator is traced, and what it calls is in the graph.
twice.register_autograd(lambda ctx, gradient: thrice(gradient) * FACTOR)

def fn(x):
    return (twice(x) + 1).sin()

def values(fn):
    x = torch.ones(3, requires_grad=True)
    y = fn(x)
    y.sum().backward()
    return y.tolist(), x.grad.tolist()

compiled = ferrodyn.compile(fn, backend="aot_eager")
print(json.dumps([values(compiled) == values(fn), said]))
"""


def test_operators_of_the_program_are_told_by_what_compilers_rely_on(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(CUSTOM)
    kept = [printed(tmp_path, program, FACTOR=factor) for factor in ("2.0", "2.0", "5.0")]
    assert kept == [
        [True, ["an artifact is kept"]],
        [True, ["an artifact is used"]],
        [True, ["an artifact is kept"]],
    ]
    # The operator that only the graph of the gradients calls.
    fake = "thrice.register_fake(lambda x: x.new_empty(x.shape))"
    program.write_text(CUSTOM.replace("thrice.register_fake(torch.empty_like)", fake))
    assert printed(tmp_path, program, FACTOR="2.0") == [True, ["an artifact is kept"]]
