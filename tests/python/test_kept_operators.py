"""What compilers make of operators of graphs, and of `torch.func`, serves later processes."""

from __future__ import annotations

import pytest
from kept_programs import printed

pytestmark = [pytest.mark.own, pytest.mark.once]

PROGRAM = """\
import json, os, sys
import torch
from said_of_artifacts import said
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.nn.attention.flex_attention import flex_attention
from torch.utils.checkpoint import checkpoint
import ferrodyn

CHECKED = "CHECKED" in os.environ
OTHER = int(os.environ.get("OTHER", "0"))
weight = torch.full((3,), 0.5, requires_grad=True)

class Cubed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x * (4 if OTHER else 3)

def branches(x):
    other = lambda x: x - weight if OTHER else x + weight
    return torch.cond(x.sum() > 100, lambda x: (x * weight).sin(), other, (x,))

def loop(x):
    last = 4 if OTHER else 3
    return while_loop(
        lambda i, x: i < last, lambda i, x: (i + 1, x * 2), (torch.tensor(0), x.detach())
    )[1]

def sums(x):
    def step(carry, row):
        return carry + row, carry * (row - OTHER)
    return scan(step, torch.zeros(3), torch.stack([x, x + 1]).detach())[1]

def products(x):
    combined = lambda a, b: a * b + OTHER
    rows = torch.stack([x, x + 1, x + 2]).detach()
    return associative_scan(combined, rows, dim=0, combine_mode="generic")

def mapped(x):
    return torch_map(lambda row: row.sin() + OTHER, torch.stack([x, x + 1]).detach())

def computed_again(x):
    body = lambda x: (x * weight).cos() if OTHER else (x * weight).sin()
    return checkpoint(body, x, use_reentrant=False)

def cubed(x):
    return Cubed.apply(x) + 1

def gradient(x):
    y = x.detach()
    return torch.func.grad(lambda a, b: (a * a * b).sum(), argnums=OTHER)(y, y + 1)

def jacobian(x):
    return torch.func.jacrev(lambda a: a.cos() if OTHER else a.sin())(x.detach())

def attended(x):
    q = torch.arange(96.0).reshape(1, 2, 4, 12) * x.detach()[0] / 40
    return flex_attention(q, q, q, score_mod=lambda score, b, h, i, j: score * (OTHER + 2))

def along(x):
    y = x.detach()
    return torch.func.jvp(lambda a: a.exp() * (OTHER + 1), (y,), (y * 2,))[1]

def compare(program):
    x = torch.arange(1.0, 4.0).requires_grad_()
    both = []
    # Plain Python imports torch's compiler for some of them.
    for run in [ferrodyn.compile(program, backend=sys.argv[1])] + [program] * CHECKED:
        y = run(x)
        grads = y.requires_grad and torch.autograd.grad(y.sum(), [x, weight], allow_unused=True)
        both.append((y.tolist(), [grad is not None and grad.tolist() for grad in grads or ()]))
    torch.testing.assert_close(both[0], both[-1], rtol=1e-5, atol=1e-5)
    found = [program.__name__, repr(both[0]), said[:]]
    said.clear()
    return found

programs = [
    *(branches, loop, sums, products, mapped, computed_again, cubed),
    *(gradient, jacobian, along),
]
results = [compare(program) for program in programs]
loaded = [name for name in ("torch._dynamo", "torch._inductor") if name in sys.modules]
# Its capture is not taken: what it reads is torch's compiler.
results.append(compare(attended))
print(json.dumps([results, loaded]), flush=True)
"""


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_operators_of_graphs_are_told_by_their_graphs(tmp_path, backend):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    first, _ = printed(tmp_path, program, backend, CHECKED="1")
    second, loaded = printed(tmp_path, program, backend)
    assert loaded == []
    for (name, found, kept), again in zip(first, second, strict=True):
        assert kept == ["an artifact is kept"], name
        assert again == [name, found, ["an artifact is used"]]
    if backend == "inductor":
        # The key of a graph is made in the same way for each compiler.
        return
    other, _ = printed(tmp_path, program, backend, CHECKED="1", OTHER="1")
    for (name, found, _), changed in zip(first, other, strict=True):
        assert changed[2] == ["an artifact is kept"], name
        assert changed[1] != found, name
