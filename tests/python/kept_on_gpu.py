"""Run by `test_kept_on_gpu` in processes of its own: programs for a GPU under inductor.

Prints for each what the log of artifacts said, a digest of what it made, and what of torch's
compiler was imported.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from collections.abc import Callable
from typing import Any

import ferrodyn
import torch
from said_of_artifacts import said
from torch import nn
from torch.nn import functional as F

#: Bit for bit the same in another process: what adds with atomics is not.
PROGRAMS: dict[str, tuple[Callable[[], Any], bool]] = {}


def program(*, exact: bool = True) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    def add(fn: Callable[[], Any]) -> Callable[[], Any]:
        PROGRAMS[fn.__name__] = (fn, exact)
        return fn

    return add


def on_gpu(*shape: int, **choices: Any) -> torch.Tensor:
    return torch.randn(*shape, device="cuda", **choices)


def both(function: Callable[..., Any], *inputs: Any, **options: Any) -> Any:
    """What a compiled function gives, which has to be what eager gives."""
    expected = function(*inputs)
    found = ferrodyn.compile(function, **options)(*inputs)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    return found


def trained(module: nn.Module, *inputs: Any) -> list[Any]:
    """Outputs and gradients, which have to be eager's."""

    def step(run: Callable[..., Any]) -> list[Any]:
        module.zero_grad()
        made = run(*inputs)
        made.square().sum().backward()
        return [made.detach(), *(p.grad.clone() for p in module.parameters() if p.grad is not None)]

    expected, found = step(module), step(ferrodyn.compile(module))
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)
    return found


def mlp() -> nn.Sequential:
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.LayerNorm(128), nn.Linear(128, 32))


@program()
def inference() -> Any:
    with torch.no_grad():
        return both(mlp().cuda(), on_gpu(16, 64))


@program()
def training() -> Any:
    return trained(mlp().cuda(), on_gpu(16, 64))


@program()
def normalised() -> Any:
    with torch.no_grad():
        return both(nn.Sequential(nn.LayerNorm(257), nn.GELU()).cuda(), on_gpu(33, 257))


@program()
def reduced() -> Any:
    return both(lambda x: (torch.softmax(x, -1), x.sum(), x.amax(0)), on_gpu(300, 5000))


@program()
def convolved() -> Any:
    layers = (nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2))
    return trained(nn.Sequential(*layers).cuda().eval(), on_gpu(2, 3, 32, 32))


@program(exact=False)
def embedded() -> Any:
    return trained(nn.Embedding(50, 16).cuda(), torch.arange(20, device="cuda") % 7)


@program(exact=False)
def attended() -> Any:
    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.project = nn.Linear(64, 192)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            q, k, v = self.project(x).view(2, 32, 3, 4, 16).permute(2, 0, 3, 1, 4)
            return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2).relu()

    return trained(Attention().cuda(), on_gpu(2, 32, 64))


@program()
def dropped() -> Any:
    module = nn.Sequential(nn.Linear(16, 16), nn.Dropout(0.5)).cuda()
    torch.manual_seed(3)
    made = ferrodyn.compile(module)(on_gpu(4, 16))
    made.sum().backward()
    return [made, *(p.grad for p in module.parameters())]


@program()
def written_and_aliased() -> Any:
    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        x.add_(y)
        x[1].mul_(3)
        return x.t(), y + 1, (y * 2)[1:]

    compiled = ferrodyn.compile(function)
    x, y = on_gpu(8, 8), on_gpu(8, 8)
    other = x.clone()
    found, expected = compiled(x, y), function(other, y)
    torch.testing.assert_close((*found, x), (*expected, other))
    assert found[0].data_ptr() == x.data_ptr() and found[0]._base is x
    return [*found, x]


@program()
def sizes_that_change() -> Any:
    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x * 2 + x.shape[0]).sum(1)

    compiled = ferrodyn.compile(function, dynamic=True)
    made = []
    for shape in (17, 5), (40, 300), (3, 5000), (2000, 7):
        x = on_gpu(*shape)
        made.append(compiled(x))
        torch.testing.assert_close(made[-1], function(x), rtol=1e-4, atol=1e-3)
    return made


@program()
def training_with_sizes_that_change() -> Any:
    module = mlp().cuda()
    compiled = ferrodyn.compile(module, dynamic=True)
    made = []
    for size in 16, 33, 200:
        x = on_gpu(size, 64)
        module.zero_grad()
        compiled(x).square().sum().backward()
        made.append([p.grad.clone() for p in module.parameters()])
        module.zero_grad()
        module(x).square().sum().backward()
        expected = [p.grad for p in module.parameters()]
        torch.testing.assert_close(made[-1], expected, rtol=1e-3, atol=1e-3)
    return made


@program()
def no_rows() -> Any:
    function = ferrodyn.compile(lambda x: (x + 1).sum(1), dynamic=True)
    return [function(on_gpu(size, 5)) for size in (4, 0, 6)]


@program()
def three_dimensions() -> Any:
    return both(lambda x: x.permute(2, 0, 1).contiguous() + 1, on_gpu(70, 90, 110))


@program(exact=False)
def scanned() -> Any:
    return both(lambda x: x.cumsum(0) + 1, on_gpu(1000, 7))


@program()
def numbers() -> Any:
    def function(x: torch.Tensor, rate: float, scale: torch.Tensor) -> torch.Tensor:
        return x * rate + x.size(0) * scale

    compiled = ferrodyn.compile(function, dynamic=True)
    made = []
    for size, rate in (9, 0.5), (11, 0.7), (12, -3.25):
        x, scale = on_gpu(size), torch.tensor(rate + 1)
        made.append(compiled(x, rate, scale))
        torch.testing.assert_close(made[-1], function(x, rate, scale))
    return made


@program()
def two_devices() -> Any:
    return both(lambda x, y: (x.sin() + 1, y.cos() * 2), on_gpu(30, 40), torch.randn(20))


@program()
def half_precision() -> Any:
    with torch.no_grad(), torch.autocast("cuda", dtype=torch.bfloat16):
        module = mlp().cuda()
        return ferrodyn.compile(module)(on_gpu(16, 64))


@program()
def addresses() -> Any:
    """Inputs that do not lie as kernels assume, read and written."""

    def function(x: torch.Tensor) -> torch.Tensor:
        return x.mul_(2) + 1

    compiled = ferrodyn.compile(function, dynamic=False)
    made = []
    for x in on_gpu(128), torch.tensor([0.0] * 129, device="cuda")[1:].detach():
        x.copy_(torch.arange(128.0))
        made += [compiled(x), x]
        torch.testing.assert_close(made[-2], torch.arange(128.0, device="cuda") * 2 + 1)
        torch.testing.assert_close(x, torch.arange(128.0, device="cuda") * 2)
    return made


@program()
def another_stream() -> Any:
    """Kernels run behind what was given to the current stream, and before what comes behind."""
    compiled = ferrodyn.compile(lambda x: (x * 2 + 1).relu())
    x = torch.zeros(1 << 20, device="cuda")
    compiled(x)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        x.fill_(3)
        made = compiled(x)
    stream.synchronize()
    assert made.eq(7).all()
    return made[:4]


@program()
def chosen_products() -> Any:
    a, b = (on_gpu(128, 128, dtype=torch.bfloat16) for _ in range(2))
    options = {"max_autotune": True}
    return ferrodyn.compile(lambda a, b: torch.relu(a @ b), options=options)(a, b)


@program()
def cuda_graphs() -> Any:
    return ferrodyn.compile(lambda x: torch.relu(x) * 2, mode="reduce-overhead")(on_gpu(128))


def bits(made: Any) -> str:
    digest = hashlib.sha256()

    def add(value: Any) -> None:
        if isinstance(value, torch.Tensor):
            plain = value.detach().cpu().contiguous()
            digest.update(repr((plain.dtype, tuple(plain.shape))).encode())
            digest.update(plain.view(-1).view(torch.uint8).numpy().tobytes())
        else:
            for part in value:
                add(part)

    add(made)
    return digest.hexdigest()


def imported() -> list[str]:
    names = ("torch._dynamo", "torch._inductor", "triton", "sympy")
    return [name for name in names if name in sys.modules]


def main() -> None:
    warnings.simplefilter("ignore")
    torch.cuda.init()
    found = {}
    only = sys.argv[1:]
    for name, (run, exact) in PROGRAMS.items():
        if only and name not in only:
            continue
        del said[:]
        torch.manual_seed(0)
        before = imported()
        try:
            made = bits(run())
        except Exception as error:
            made = "failed"
            said.append(repr(error))
        new = [module for module in imported() if module not in before]
        found[name] = (made if exact else None, list(said), new)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
