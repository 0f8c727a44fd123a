"""What inductor made of a graph serves later processes, without the compiler: that graph alone."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import forked
import pytest
import torch
from ferrodyn import _artifact, _artifact_runtime, _artifact_state
from kept_programs import kept_in, printed
from torch._logging._internal import log_state
from torch.utils.flop_counter import FlopCounterMode

pytestmark = [pytest.mark.own, pytest.mark.once]

PROGRAM = """\
import json, sys, warnings
import torch
from said_of_artifacts import said
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

#: Torch compiles the backward pass of a graph that was kept.
BACKWARD = """\
import torch._dynamo.compiled_autograd as compiled_autograd
warnings.simplefilter("ignore")
again = ferrodyn.compile(model.train())
for module in model.modules():
    module.zero_grad()
with compiled_autograd._enable(torch.compile(backend="eager")):
    again(x)[0].square().sum().backward()
expected = Model()
expected.load_state_dict(model.state_dict())
expected(x)[0].square().sum().backward()
for ours, theirs in zip(model.parameters(), expected.parameters(), strict=True):
    torch.testing.assert_close(ours.grad, theirs.grad)
assert said[-1] == "an artifact is used", said
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
ferrodyn.compile(lambda x: torch.tensor([[1.0, 2.0] * 40]) + x[0, 0])(x)
assert said == ["a graph's artifact is not kept"], said
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    program = folder / "program.py"
    program.write_text(PROGRAM)

    def run(behind="", **env):
        return printed(folder, program, behind, **env)

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


def test_torch_may_compile_the_backward_pass(run, cold):
    assert run(BACKWARD)[0] == cold


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


def test_a_compiler_that_the_program_exchanged_gives_no_key(monkeypatch):
    import torch._inductor.compile_fx as entry

    assert _artifact_state.state() is not None
    monkeypatch.setattr(entry, "compile_fx", lambda *args, **kwargs: None)
    assert _artifact_state.state() is None


def _code_is_handed_on():
    from torch._inductor.graph import GraphLowering

    return mock.patch.object(GraphLowering, "save_output_code", lambda code: None)


@pytest.mark.parametrize(
    "watching",
    [
        _code_is_handed_on,
        lambda: mock.patch.object(log_state, "artifact_names", {"output_code"}),
        lambda: FlopCounterMode(display=False),
        lambda: torch.device("meta"),
        lambda: mock.patch.object(torch.compiler.config, "force_disable_caches", True),
        lambda: torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x),
        lambda: mock.patch.object(torch._dynamo.config, "compiled_autograd", True),
    ],
)
def test_who_watches_the_compiler_gets_to_see_it(watching):
    with watching():
        assert _artifact_state.state() is None
    assert _artifact_state.state() is not None


X = torch.ones(2, 3)


def described(*tensors):
    return _artifact_state.inputs(tensors, [(False, [])] * len(tensors))


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
    assert described(other()) != described(X)
    assert _artifact_state.inputs([X], [(True, [])]) != described(X)
    assert _artifact_state.inputs([X], [(False, [0])]) != described(X)


def test_inputs_in_one_storage_are_told():
    assert described(X[0], X[0]) != described(X[0], X.clone()[0])


def test_each_number_is_told():
    told = {_artifact_state.inputs([n], [about]) for n in (2, 3) for about in ((), (0, 1))}
    assert len(told) == 4


@pytest.mark.parametrize(
    "other",
    [
        lambda: 1j,
        lambda: True,
        lambda: torch.ones(2, 3).to_sparse(),
        lambda: torch.ones(2, device="meta"),
        lambda: torch.ones(2, dtype=torch.complex64).conj(),
        lambda: torch.nn.Buffer(X).as_subclass(type("Mine", (torch.Tensor,), {})),
    ],
)
def test_other_inputs_give_no_key(other):
    assert described(other()) is None


@pytest.mark.parametrize(
    "code",
    [
        "import triton\nx = triton.cdiv(3, 2)",
        "import triton.language as tl\nx = tl.float32",
        "from torch._inductor.runtime.triton_heuristics import grid\nx = grid(3)",
        "k = async_compile.cuda('k', '')",
        "k = async_compile.multi_kernel('k', [])",
        "x = extern_kernels.unknown(a)",
        "x = torch.ops.mine.op(a)",
        "x = constant0 + 1",
        "@wrapped\ndef partition_0(args): pass",
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


#: Floats that change are inputs of the graph.
FLOATS = """\
import json, sys
import torch, ferrodyn
from said_of_artifacts import said
weight = torch.linspace(0, 1, 12).reshape(4, 3).requires_grad_()
def f(x, rate):
    y = torch.relu(x @ weight) * rate
    return y + rate, x.sum() / (rate + 1)
compiled = ferrodyn.compile(f)
x = torch.linspace(-1, 1, 12).reshape(3, 4)
for rate in map(float, sys.argv[1:]):
    found, expected = compiled(x, rate), f(x, rate)
    torch.testing.assert_close(found, expected, equal_nan=True)
    grads = [torch.autograd.grad(y.sum(), weight)[0] for y, _ in (found, expected)]
    torch.testing.assert_close(*grads, equal_nan=True)
loaded = [name for name in ("torch._dynamo", "torch._inductor") if name in sys.modules]
print(json.dumps([said, loaded]))
"""


def test_floats_that_change(tmp_path):
    def run(*rates):
        return printed(tmp_path, "-c", FLOATS, *rates)

    assert run(0.5, 0.25, 3.0)[0] == ["an artifact is kept"] * 2
    assert run(0.5, 0.25, -7.0, 0.0, 1e300) == [["an artifact is used"] * 2, []]
    said, _ = run(0.5, 0.75, "inf", "nan", -0.0)
    assert said[:2] == ["an artifact is used"] * 2


#: Ints that functions give of numbers that change are inputs of the graph.
INTS = """\
import json, math, sys
import torch, ferrodyn
from said_of_artifacts import said
def f(x, share):
    side = int(math.sqrt(x.shape[0]))
    return x[: int(x.shape[0] * share)].sum(0) * side + torch.ones(math.ceil(share * 20)).sum()
compiled = ferrodyn.compile(f)
for n in map(int, sys.argv[1:]):
    x = torch.arange(n * 3.0).reshape(n, 3)
    torch.testing.assert_close(compiled(x, 8 / n), f(x, 8 / n))
print(json.dumps(said))
"""


def test_ints_that_functions_give(tmp_path):
    def run(*lengths):
        return printed(tmp_path, "-c", INTS, *lengths)

    assert run(16, 25, 40) == ["an artifact is kept"] * 2
    assert run(16, 25, 50, 36, 12) == ["an artifact is used"] * 2


#: Options and modes of `compile` are told.
OPTIONS = """\
import json, sys
import torch, ferrodyn
from said_of_artifacts import said
def f(x):
    return torch.relu(x).sum(1) * 2
x = torch.linspace(-1, 1, 12).reshape(3, 4)
for chosen in json.loads(sys.argv[1]):
    torch.testing.assert_close(ferrodyn.compile(f, **chosen)(x), f(x))
print(json.dumps(said))
"""


def test_options_of_compile_are_told(tmp_path):
    def run(*chosen):
        return printed(tmp_path, "-c", OPTIONS, json.dumps(chosen))

    chosen = [{"options": {"max_fusion_size": 1}}, {"mode": "max-autotune-no-cudagraphs"}, {}]
    assert run(*chosen) == ["an artifact is kept"] * 3
    assert run(*chosen, {"options": {"max_fusion_size": 2}}) == [
        *["an artifact is used"] * 3,
        "an artifact is kept",
    ]
    assert _artifact_state.options({"post_grad_custom_post_pass": print}) is None
    assert _artifact_state.options({"force_disable_caches": True}) is None


#: The compiler holds some sizes to less than the graph asks for: inductor's loops over few rows.
SIZES = """\
import json, sys
import torch, ferrodyn
from said_of_artifacts import said
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.GELU(), torch.nn.LayerNorm(4))
model.eval()
torch.manual_seed(0)
with torch.no_grad():
    for parameter in model.parameters():
        parameter.copy_(torch.rand_like(parameter))
def fn(x, k):
    y = model(x)
    return y * k, y.sum(0) / x.shape[0], x.shape[0] + k
fn = ferrodyn.compile(fn)
found = []
for size in map(int, sys.argv[1:]):
    x = torch.linspace(-1, 1, size * 4).reshape(size, 4) ** 3
    model.zero_grad()
    y, mean, number = fn(x, size + 1)
    (y.mean() + mean.square().sum()).backward()
    assert number == 2 * size + 1
    grads = [p.grad for p in model.parameters()]
    found.append([t.detach().double().tolist() for t in (y.mean(), mean, *grads)])
    assert torch.allclose(mean, model(x).mean(0), atol=1e-4, rtol=1e-4)
loaded = [name for name in ("torch._dynamo", "torch._inductor", "sympy") if name in sys.modules]
print(json.dumps([found, said, loaded]))
"""


def test_sizes_that_change(tmp_path):
    def run(*sizes):
        return printed(tmp_path, "-c", SIZES, *sizes)

    first, said, loaded = run(3, 5, 7)
    assert said == ["an artifact is kept"] * 2 and loaded
    assert run(3, 5, 7) == [first, ["an artifact is used"] * 2, []]
    # Inductor asks for no more than 4,096 rows where it saw few of them.
    entries = [json.loads(path.read_text()) for path in (tmp_path / "cache").glob("*/manifest")]
    (bounded,) = [entry["guards"] for entry in entries if entry["guards"]]
    bound = max(c["Const"] for g in bounded for c in g["Compare"][1:] if "Const" in c)
    _, said, _ = run(3, 5, bound + 1)
    assert said == ["an artifact is used"] * 2 + ["an artifact is kept"]


@pytest.mark.parametrize("sizes", ["static", "dynamic"])
def test_outputs_that_are_views_and_written_inputs(tmp_path, sizes):
    def run():
        program = Path(__file__).with_name("kept_views.py")
        wrong, said, missed = printed(tmp_path, program, sizes)
        assert wrong == {}
        return said, missed

    said, _ = run()
    kept = len(said)
    assert said == ["an artifact is kept"] * kept and kept > 15
    said, missed = run()
    assert said == ["an artifact is used"] * kept
    # Torch keeps no graph whose backward graph does nothing.
    assert missed < 5


SMALL = """\
import sys, torch, ferrodyn
weight = torch.arange(12.0).reshape(3, 4) / 7
for size in map(int, sys.argv[1:]):
    f = ferrodyn.compile(lambda x: torch.relu(x @ weight.t()) * size, dynamic=False)
    x = torch.arange(4.0 * size).reshape(size, 4)
    print("begins", flush=True)
    assert torch.equal(f(x), torch.relu(x @ weight.t()) * size)
    print("right", flush=True)
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    (folder / "small.py").write_text(SMALL)
    env = kept_in(folder)

    def begin(*args):
        return subprocess.Popen(
            [sys.executable, *args],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=env,
        )

    def run(*args):
        done = forked.run(args, env=env)
        return done.returncode, done.stdout, done.stderr

    run.begin, run.program, run.folder = begin, str(folder / "small.py"), folder / "cache"
    return run


def test_the_command_lists_explains_verifies_and_clears(small):
    command = ("-m", "ferrodyn", "cache")
    assert "0 captures, 0 artifacts" in small(*command, "list")[1]
    _, out, err = small(*command, "explain", small.program, "2")
    assert "right" in out and "none is kept of the graph of" in err and "is kept: " in err
    _, out, err = small(*command, "explain", small.program, "2")
    assert "right" in out and "an artifact is used" in err and "no artifact" not in err
    # Another number in the graph is another graph; other threads are another state.
    assert "none is kept of the graph" in small(*command, "explain", small.program, "3")[2]
    listed = small(*command, "list")[1]
    assert "2 artifacts" in listed and listed.count("inference") == 2
    assert "small.py:" in listed and "4 operations" in listed
    assert "changed and removed: 0" in small(*command, "verify")[1]
    library = next(small.folder.glob("*/*.so"))
    library.write_bytes(library.read_bytes()[:-1])
    status, out, _ = small(*command, "verify")
    assert status == 1 and "changed and removed: 1" in out
    assert "1 artifact removed" in small(*command, "clear")[1]
    assert "0 captures, 0 artifacts" in small(*command, "list")[1]


@pytest.mark.parametrize(("what", "usually"), [("artifacts", "80"), ("captures", "20")])
def test_each_change_between_two_calls_is_noticed_in_another_process(tmp_path, what, usually):
    """`FERRODYN_SOUNDNESS_KEPT`: each how many-th row of docs/soundness.md; 1 for all of them."""
    every = os.environ.get("FERRODYN_SOUNDNESS_KEPT", usually)
    program = Path(__file__).with_name("soundness") / "between.py"

    def rows(*order):
        captures = str(int(what == "captures"))
        return printed(tmp_path, program, every, what, *order, FERRODYN_CACHE_CAPTURES=captures)

    first, second = rows(), rows("reversed")
    # Some rows differ below any compiler: see `compiled_wrong`.
    assert set(second["wrong"]) <= set(first["wrong"])
    assert first["kept"] and second["used"]


def test_processes_are_killed_while_they_write(small):
    """`FERRODYN_KILLED`: how many; a full run has 200."""
    random_ = random.Random(0)
    count = int(os.environ.get("FERRODYN_KILLED", "6"))
    for _ in range(count):
        process = small.begin(small.program, str(random_.randrange(2, 6)))
        assert process.stdout.readline() == "begins\n", process.stderr.read()
        time.sleep(random_.random() * 3)
        process.send_signal(signal.SIGKILL)
        out, err = process.communicate()
        assert process.returncode in (0, -signal.SIGKILL), err
        assert out in ("", "right\n"), out
    status, out, err = small(small.program, *map(str, range(2, 6)))
    assert status == 0 and out == "begins\nright\n" * 4, err
    assert small("-m", "ferrodyn", "cache", "verify")[0] == 0
