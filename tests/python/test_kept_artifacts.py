"""What inductor made of a graph serves later processes, without the compiler: that graph alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import torch
from ferrodyn import _artifact, _artifact_runtime, _artifact_state

pytestmark = [pytest.mark.own, pytest.mark.once]

PROGRAM = """\
import json, logging, sys, warnings
import torch
class Said(logging.Handler):
    def emit(self, record):
        said.append(record.getMessage().partition(":")[0])
said = []
log = logging.getLogger("ferrodyn.artifacts")
log.setLevel(logging.INFO)
log.addHandler(Said())
import ferrodyn

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.norm = torch.nn.BatchNorm1d(4)

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x))), None

def values(*tensors):
    return [t.detach().double().tolist() for t in tensors]

def trained(model, x):
    y, none = ferrodyn.compile(model)(x)
    assert none is None
    version = model.norm.running_mean._version
    y.square().sum().backward()
    grads = [p.grad for p in model.parameters()]
    return values(y, *grads, *model.buffers()) + [version, y.requires_grad, x.requires_grad]

def infer(x):
    return torch.sigmoid(x) * 2.0 + x.sum(1, keepdim=True)

torch.manual_seed(0)
x = torch.randn(3, 4)
model = Model()
results = {"trained": trained(model, x), "inferred": values(ferrodyn.compile(infer)(x))}
with torch.no_grad():
    results["evaluated"] = values(ferrodyn.compile(model.eval())(x)[0])
loaded = [name for name in ("torch._dynamo", "torch._inductor", "sympy") if name in sys.modules]
print(json.dumps([results, said, loaded]), flush=True)
exec(sys.argv[1])
"""

#: Graphs that differ from `infer` in one thing.
OTHERS = """\
def constant(x):
    return torch.sigmoid(x) * 3.0 + x.sum(1, keepdim=True)
def kind(x):
    return torch.sigmoid(x) * 2 + x.sum(1, keepdim=True)
def operation(x):
    return torch.tanh(x) * 2.0 + x.sum(1, keepdim=True)
def keyword(x):
    return torch.sigmoid(x) * 2.0 + x.sum(1, keepdim=False)[:, None]
def order(x):
    return x.sum(1, keepdim=True) * 2.0 + torch.sigmoid(x)
del said[:]
for other in constant, kind, operation, keyword, order:
    torch.testing.assert_close(ferrodyn.compile(other)(x), other(x))
for y in x.double(), torch.randn(4, 3).t(), torch.randn(5, 4), x.clone().requires_grad_():
    torch.testing.assert_close(ferrodyn.compile(infer, dynamic=False)(y), infer(y))
assert not any("used" in text for text in said), said
# Once more it is what was kept meanwhile.
ferrodyn.reset()
del said[:]
torch.testing.assert_close(ferrodyn.compile(constant)(x), constant(x))
assert said == ["an artifact is used"], said
# What is not kept says why.
del said[:]
ferrodyn.compile(lambda x: x.t())(x)
assert said == ["a graph's artifact is not kept"], said
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    program = folder / "program.py"
    program.write_text(PROGRAM)

    def run(behind="", **env):
        done = subprocess.run(
            [sys.executable, program, behind],
            capture_output=True,
            text=True,
            timeout=900,
            env={
                **os.environ,
                "FERRODYN_CACHE": "1",
                "FERRODYN_CACHE_DIR": str(folder / "cache"),
                "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
                **env,
            },
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout.splitlines()[0])

    run.folder = folder / "cache"
    return run


@pytest.fixture(scope="module")
def cold(run):
    results, said, loaded = run()
    assert said == ["an artifact is kept"] * 3 and loaded
    run.libraries = sorted(run.folder.glob("*/*.so"))
    return results


def test_a_second_process_computes_the_same_without_the_compiler(run, cold):
    results, said, loaded = run(OTHERS)
    assert results == cold
    assert said == ["an artifact is used"] * 3
    assert loaded == []


def test_a_changed_byte_and_other_surroundings_are_noticed(run, cold):
    library = run.libraries[0]
    changed = bytearray(library.read_bytes())
    changed[len(changed) // 2] ^= 1
    library.write_bytes(changed)
    results, said, _ = run()
    assert results == cold
    assert sorted(said) == ["an artifact is kept"] + ["an artifact is used"] * 2
    # Nothing is kept, and nothing of it used, where it is off.
    assert run(FERRODYN_CACHE="0")[1] == []


def changes():
    def during(context):
        with context:
            return _artifact_state.state()

    def threads():
        before = torch.get_num_threads()
        torch.set_num_threads(before + 1)
        try:
            return _artifact_state.state()
        finally:
            torch.set_num_threads(before)

    def deterministic():
        torch.use_deterministic_algorithms(True)
        try:
            return _artifact_state.state()
        finally:
            torch.use_deterministic_algorithms(False)

    def precision():
        torch.set_float32_matmul_precision("high")
        try:
            return _artifact_state.state()
        finally:
            torch.set_float32_matmul_precision("highest")

    def option():
        import torch._inductor.config

        return during(torch._inductor.config.patch(epilogue_fusion=False))

    return {
        "threads": threads,
        "grad mode": lambda: during(torch.no_grad()),
        "inference mode": lambda: during(torch.inference_mode()),
        "autocast": lambda: during(torch.autocast("cpu", dtype=torch.bfloat16)),
        "deterministic": deterministic,
        "precision": precision,
        "option": option,
    }


@pytest.mark.parametrize("name", changes())
def test_each_state_is_told(name):
    before = _artifact_state.state()
    assert changes()[name]() != before
    assert _artifact_state.state() == before


def test_the_environment_is_told(monkeypatch):
    before = _artifact_state.state()
    monkeypatch.setenv("TORCHINDUCTOR_MAX_AUTOTUNE", "1")
    assert _artifact_state.state() != before


def test_an_option_without_a_text_gives_no_key():
    import torch._inductor.config

    with torch._inductor.config.patch(post_grad_custom_post_pass=lambda graph: None):
        assert _artifact_state.state() is None


X = torch.ones(2, 3)


@pytest.mark.parametrize(
    "other",
    [
        lambda: torch.ones(3, 2),
        lambda: torch.ones(3, 2).t(),
        lambda: X.double(),
        lambda: torch.ones(7)[1:].view(2, 3),
        lambda: X.clone().requires_grad_(),
        lambda: torch.nn.Parameter(X),
        lambda: torch.nn.Parameter(X, requires_grad=False),
        lambda: X[:],
    ],
)
def test_each_property_of_an_input_is_told(other):
    assert _artifact_state.inputs([other()]) != _artifact_state.inputs([X])


def test_inputs_in_one_storage_are_told():
    apart = _artifact_state.inputs([X[0], X.clone()[0]])
    assert _artifact_state.inputs([X[0], X[0]]) != apart


@pytest.mark.parametrize(
    "other",
    [
        lambda: 1,
        lambda: torch.ones(2, 3).to_sparse(),
        lambda: torch.ones(2, device="meta"),
        lambda: torch.ones(2, dtype=torch.complex64).conj(),
        lambda: torch.nn.Buffer(X).as_subclass(type("Mine", (torch.Tensor,), {})),
    ],
)
def test_other_inputs_give_no_key(other):
    assert _artifact_state.inputs([other()]) is None


@pytest.mark.parametrize(
    "code",
    [
        "import triton",
        "from torch._inductor.runtime.triton_heuristics import grid",
        "k = async_compile.triton('k', '')",
        "x = extern_kernels.unknown(a)",
        "x = torch.ops.mine.op(a)",
        "x = constant0 + 1",
        "def partition_0(args): pass",
        "for x in a: pass",
    ],
)
def test_code_that_the_runtime_does_not_know_is_declined(code):
    with pytest.raises(_artifact.Declined):
        _artifact.stripped(code)


def test_the_runtime_stands_for_what_torch_has():
    from torch._inductor.codegen.memory_planning import _align

    ours = _artifact_runtime.STAND_INS["torch._inductor.codegen.memory_planning._align"]
    assert [ours(n) for n in range(200)] == [_align(n) for n in range(200)]
