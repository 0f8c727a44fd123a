"""Programs that only a GPU shows: compared with eager; skipped where there is none.

`pytest tests/python/test_cases.py --device cuda` runs the cases of tests/cases there.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

import harness
import pytest
import torch
from torch import nn

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")

PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[[], tuple[Any, ...]], int | None]] = {}


def program(
    inputs: Callable[[], tuple[Any, ...]], graphs: int | None = 1
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: run this with these arguments, twice; all of it makes this many graphs."""

    def add(fn: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS[fn.__name__] = (fn, inputs, graphs)
        return fn

    return add


def on_gpu(*shape: int, **choices: Any) -> torch.Tensor:
    return torch.randn(*shape, device="cuda", **choices)


def one() -> tuple[Any, ...]:
    return (on_gpu(4, 8),)


def two() -> tuple[Any, ...]:
    return (on_gpu(8, 8), on_gpu(8, 8))


@program(one)
def arithmetic(x: torch.Tensor) -> Any:
    return (x * 2 + 1).relu().sum(-1), x[:, None] - x, x.t() @ x


@program(one)
def what_it_is(x: torch.Tensor) -> Any:
    here = (x.is_cuda, x.is_cpu, x.device.type, x.device.index, str(x.device), x.get_device())
    same = (x.device == torch.device("cuda", 0), x.device == torch.device("cuda"))
    return x + 1, here, same, x.device, x.type()


@program(lambda: (torch.randn(3),))
def there_and_back(x: torch.Tensor) -> Any:
    y = x.cuda()
    z = x.to("cuda", non_blocking=True)
    return y + z, (y * 2).cpu(), (z - 1).to("cpu"), x.to(y.device), x.to(y)


@program(one)
def number_in_a_tensor(x: torch.Tensor) -> Any:
    return x * torch.tensor(2.0), x + torch.tensor(3), torch.where(x > 0, x, torch.tensor(0.0))


@program(one)
def made_beside(x: torch.Tensor) -> Any:
    at = torch.arange(x.shape[-1], device=x.device)
    return x + at, x.new_zeros(3), torch.zeros_like(x), torch.ones(2, device="cuda")


@program(one)
def indexed_from_the_cpu(x: torch.Tensor) -> Any:
    return x[torch.tensor([0, 2])], x[:, torch.tensor([True, False] * 4)]


@program(one)
def dropout(x: torch.Tensor) -> Any:
    return nn.functional.dropout(x, 0.5), torch.rand_like(x), torch.randn(3, device="cuda")


@program(lambda: (on_gpu(8, 8), torch.Generator("cuda").manual_seed(3)), None)
def generator(x: torch.Tensor, source: torch.Generator) -> Any:
    return x + torch.rand(8, device="cuda", generator=source)


@program(two)
def autocast(x: torch.Tensor, y: torch.Tensor) -> Any:
    with torch.autocast("cuda", dtype=torch.bfloat16):
        z = x @ y
        loss = nn.functional.softmax(z, -1)
    with torch.autocast("cuda"):
        half = x @ y
    return z, loss, half, (x @ y).dtype, torch.is_autocast_enabled("cuda")


@program(two)
def old_autocast(x: torch.Tensor, y: torch.Tensor) -> Any:
    with torch.cuda.amp.autocast():
        return x @ y, torch.is_autocast_enabled(), torch.get_autocast_dtype("cuda")


@program(two)
def cpu_autocast_beside(x: torch.Tensor, y: torch.Tensor) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return x @ y, x.cpu() @ y.cpu()


@program(one)
def queries(x: torch.Tensor) -> Any:
    answers = (
        torch.cuda.is_available(),
        torch.cuda.device_count(),
        torch.cuda.current_device(),
        torch.cuda.get_device_capability(),
        torch.cuda.is_bf16_supported(),
        torch.backends.cuda.matmul.allow_tf32,
        torch.backends.cudnn.enabled,
    )
    return x + 1, answers


@program(one)
def named(x: torch.Tensor) -> Any:
    return x + 1, torch.cuda.get_device_name(), torch.cuda.get_device_properties(0).name


@program(one, None)
def waits(x: torch.Tensor) -> Any:
    y = x + 1
    torch.cuda.synchronize()
    return y * 2


@program(one, None)
def streams(x: torch.Tensor) -> Any:
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y = x * 3
    torch.cuda.current_stream().wait_stream(side)
    return y + 1


@program(one, None)
def on_a_device(x: torch.Tensor) -> Any:
    with torch.cuda.device(0):
        y = x + torch.ones(8, device="cuda")
    with torch.device("cuda"):
        z = torch.ones(8)
    return y + z


@program(lambda: (on_gpu(2, 4, 16, 8), on_gpu(2, 4, 16, 8), on_gpu(2, 4, 16, 8)))
def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Any:
    whole = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    half = nn.functional.scaled_dot_product_attention(q.half(), k.half(), v.half())
    apart = q.transpose(1, 2).contiguous().transpose(1, 2).half()
    other = nn.functional.scaled_dot_product_attention(apart, apart, apart)
    strides = (whole.stride(), half.stride(), other.stride(), half.is_contiguous())
    return whole, half, other, other.transpose(1, 2).is_contiguous(), strides


@program(lambda: (on_gpu(2, 3, 8, 8).to(memory_format=torch.channels_last), on_gpu(4, 3, 3, 3)))
def channels_last(x: torch.Tensor, w: torch.Tensor) -> Any:
    y = nn.functional.conv2d(x, w)
    z = nn.functional.conv2d(x.contiguous(), w, padding=1)
    return y, z, y.stride(), z.stride(), y.is_contiguous(memory_format=torch.channels_last)


@program(lambda: (on_gpu(6, 6),))
def solved(x: torch.Tensor) -> Any:
    a = x @ x.mT + 6 * torch.eye(6, device="cuda")
    parts = torch.linalg.qr(a)
    return torch.linalg.cholesky(a).stride(), [p.stride() for p in parts], torch.linalg.inv(a)


@program(one)
def ordered(x: torch.Tensor) -> Any:
    values, at = x.sort(dim=0)
    top = x.topk(2, dim=0)
    return values, at, values.stride(), top, top.values.stride(), x.cumsum(0), x.argsort()


@program(lambda: (on_gpu(4, requires_grad=True),))
def gradients(x: torch.Tensor) -> Any:
    return (x * x).sum(), x.exp()


@program(one, None)
def looks(x: torch.Tensor) -> Any:
    if x.sum() > 1e9:
        return x
    n = x.argmax().item()
    return x + n, x[0].tolist()


@program(lambda: (on_gpu(3), torch.randn(3)), None)
def raises(x: torch.Tensor, y: torch.Tensor) -> Any:
    return x + y


@program(one, None)
def not_for_numpy(x: torch.Tensor) -> Any:
    return x.numpy()


def _compare(make: Callable[[], Any], calls: Callable[[], list[Any]], graphs: int | None) -> None:
    recorder = harness.Recorder()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        expected = harness.run_calls(make(), calls(), __file__)
        found = harness.run_calls(harness.compile(make(), backend=recorder), calls(), __file__)
    harness.assert_same(expected, found)
    if graphs is not None and not harness.REFERENCE:
        assert len(recorder.graphs) == graphs


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    """The compiled program does what the plain one does, on the GPU."""
    fn, inputs, graphs = PROGRAMS[name]

    def calls() -> list[Any]:
        torch.manual_seed(0)
        return [inputs(), inputs()]

    _compare(lambda: fn, calls, graphs)


def test_a_device_is_guarded() -> None:
    """One function, called with tensors of the CPU and of the GPU in turns."""

    def fn(x: torch.Tensor) -> Any:
        return x * 2, x.is_cuda, torch.zeros(2, device=x.device)

    def calls() -> list[Any]:
        torch.manual_seed(0)
        return [(torch.randn(3, device=where),) for where in ("cpu", "cuda", "cpu", "cuda")]

    _compare(lambda: fn, calls, 2)


class _Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.norm = nn.BatchNorm2d(8)
        self.lstm = nn.LSTM(8, 8, batch_first=True)
        self.out = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = nn.functional.dropout(self.norm(self.conv(x)).relu(), 0.1, self.training)
        x, _ = self.lstm(x.flatten(2).transpose(1, 2))
        return self.out(x[:, -1])


def _trained(compile: Callable[[Any], Any], steps: int, **choices: Any) -> list[torch.Tensor]:
    torch.manual_seed(0)
    torch.backends.cudnn.deterministic = True
    net = _Net().cuda()
    optimizer = choices.pop("optimizer", torch.optim.SGD)(net.parameters(), lr=1e-2, **choices)
    scaler = torch.amp.GradScaler("cuda")

    def step(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()

    run = compile(step)
    seen = []
    for seed in range(steps):
        torch.manual_seed(seed)
        x, y = torch.randn(2, 3, 8, 8, device="cuda"), torch.randint(4, (2,), device="cuda")
        seen.append(run(x, y))
    return [*seen, *(p.detach().clone() for p in net.state_dict().values())]


@pytest.mark.parametrize(
    "choices",
    [
        {"momentum": 0.9},
        {"optimizer": torch.optim.Adam},
        {"optimizer": torch.optim.AdamW, "fused": True},
        {"optimizer": torch.optim.AdamW, "capturable": True},
        {"optimizer": torch.optim.RMSprop, "foreach": True},
    ],
    ids=str,
)
def test_training_steps(choices: dict[str, Any]) -> None:
    """Scaled gradients, autocast, an optimizer: parameters are eager's in every bit."""
    expected = _trained(lambda fn: fn, 4, **choices)
    found = _trained(lambda fn: harness.compile(fn, backend=harness.Recorder()), 4, **choices)
    for a, b in zip(expected, found, strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("backend", ["inductor", "aot_eager", "cudagraphs"])
def test_backend(backend: str) -> None:
    """Backends that compile for the GPU get what they need."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4)).cuda().eval()
        compiled = harness.compile(net, backend=backend)
        for _ in range(4):
            x = on_gpu(3, 8)
            torch.testing.assert_close(compiled(x).clone(), net(x), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_triton_kernels_of_the_program(backend: str, dynamic: bool | None) -> None:
    """They are in the graph, and write where the program's write."""
    import triton_programs

    for function in triton_programs.WHOLE:
        harness.reset()
        compiled = harness.compile(function, backend=backend, dynamic=dynamic, fullgraph=True)
        for count in (1000, 1000, 3001):
            inputs = on_gpu(count), on_gpu(count)
            others = [tensor.clone() for tensor in inputs]
            torch.testing.assert_close(compiled(*others), function(*inputs))
            torch.testing.assert_close(others, list(inputs))
    x = on_gpu(100)
    found = harness.compile(triton_programs.with_hook, backend=backend)(x)
    torch.testing.assert_close(found, triton_programs.with_hook(x))
