"""A second process takes captures from disk, and translates anew whatever has changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kept_programs import printed

pytestmark = [pytest.mark.own, pytest.mark.once]

LIBRARY = """\
import collections, dataclasses, enum
import torch

SCALE = 2.0
TABLE = {"shift": 0.25}

def helper(x, bias=1.0):
    return torch.relu(x) * SCALE + bias + TABLE["shift"]

def clamped(x, *, low=-1.0):
    return x.clamp(min=low)

def made(factor):
    def inner(x):
        return x * factor
    return inner

times = made(3.0)

class Power(enum.Enum):
    FIRST = 1.25

POWER = Power.FIRST
Pair = collections.namedtuple("Pair", "low high")
LIMITS = Pair(-9.0, 9.0)

@dataclasses.dataclass
class Packed:
    value: torch.Tensor
    factor: float = 0.75
    count: int | None = None

def packed(x):
    out = Packed(x.clamp(LIMITS.low, LIMITS.high) * POWER.value)
    for field in dataclasses.fields(out)[1:]:
        if field.default is not None:
            out.value = out.value * field.default
    return out

class Part(torch.nn.Module):
    slope = 0.5

    def __init__(self, width):
        super().__init__()
        self.linear = torch.nn.Linear(4, width)

    @property
    def gain(self):
        return 1.5

    @staticmethod
    def turned(x):
        return x.neg()

    def forward(self, x):
        return self.turned(self.linear(x)) * self.slope * self.gain
"""

PROGRAM = """\
import json, logging, sys, torch
import ferrodyn
import library

said = []

class Handler(logging.Handler):
    def emit(self, record):
        said.append(record.getMessage().partition(":")[0])
        if said[-1] in ("a capture fits", "a capture does not fit"):
            said.pop()

log = logging.getLogger("ferrodyn.captures")
log.setLevel(logging.DEBUG)
log.addHandler(Handler())
exec(sys.argv[1])

class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.parts = torch.nn.ModuleList(library.Part(width) for _ in range(3))
        self.count = 7

    def forward(self, x):
        for part in self.parts:
            x = library.helper(part(x))
        return library.clamped(library.times(library.packed(x).value)) + self.count

torch.manual_seed(0)
width = 4
exec(sys.argv[2])
model = Model(width)
x = torch.randn(3, 4)
exec(sys.argv[3])

def run(function):
    for parameter in model.parameters():
        parameter.grad = None
    y = function(x)
    if y.requires_grad:
        y.square().sum().backward()
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    return [t.tolist() for t in (y.detach(), *grads)]

compiled = ferrodyn.compile(model, backend="eager")
print(json.dumps([run(compiled), run(model), run(compiled), said]), flush=True)
"""


class Programs:
    """Processes that run the program in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "program.py").write_text(PROGRAM)
        (folder / "library.py").write_text(LIBRARY)

    def run(self, first: str = "", width: str = "", later: str = "", **env: str) -> list[str]:
        """Run the program; what it gives is eager's. Returns what was said of captures."""
        env = {"PYTHONDONTWRITEBYTECODE": "1", **env}
        compiled, eager, again, said = printed(
            self.folder, "program.py", first, width, later, **env
        )
        assert compiled == eager == again
        return said

    def change(self, file: str, old: str, new: str) -> None:
        """Change a line of the source."""
        path = self.folder / file
        text = path.read_text()
        assert text.count(old) == 1, old
        path.write_text(text.replace(old, new))


TAKEN = ["a capture is taken"]


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    programs = Programs(tmp_path)
    assert programs.run() == ["no capture is taken", "a capture is kept"]
    return programs


def test_second_process(programs: Programs) -> None:
    """A second process takes what the first has kept, whatever seeds its hashes."""
    assert programs.run() == TAKEN
    assert programs.run(PYTHONHASHSEED="7") == TAKEN
    assert programs.run(later="x = torch.randn(3, 4)") == TAKEN


CHANGED: dict[str, tuple[str, str, str]] = {
    "line": ("program.py", "+ self.count", "- self.count"),
    "line of a function that is inlined": ("library.py", "* SCALE + bias", "* SCALE - bias"),
    "line of a method": ("library.py", "* self.slope * self.gain", "* self.slope - self.gain"),
    "static method": ("library.py", "return x.neg()", "return x.abs()"),
    "property": ("library.py", "return 1.5", "return 2.5"),
    "default": ("library.py", "bias=1.0", "bias=3.0"),
    "keyword default": ("library.py", "low=-1.0", "low=0.5"),
    "global": ("library.py", "SCALE = 2.0", "SCALE = 4.0"),
    "item of a global": ("library.py", '"shift": 0.25', '"shift": 0.75'),
    "what a function closes over": ("library.py", "made(3.0)", "made(5.0)"),
    "attribute of a class": ("library.py", "slope = 0.5", "slope = 0.75"),
    "attribute of an instance": ("program.py", "self.count = 7", "self.count = 8"),
    "member of an enumeration": ("library.py", "FIRST = 1.25", "FIRST = 1.5"),
    "default of a dataclass": ("library.py", "factor: float = 0.75", "factor: float = 1.5"),
    "field of a dataclass": ("library.py", "int | None = None", "int | None = 2"),
    "fields of a named tuple": ("library.py", '"low high"', '"high low"'),
    "number of layers": ("program.py", "range(3)", "range(4)"),
    "base of a class": (
        "library.py",
        "class Part(torch.nn.Module):",
        "class Base(torch.nn.Module):\n    def __call__(self, x):\n"
        "        return super().__call__(x) + 1\n\nclass Part(Base):",
    ),
}


@pytest.mark.parametrize("change", CHANGED.values(), ids=CHANGED)
def test_changed_source(programs: Programs, change: tuple[str, str, str]) -> None:
    """A change of the source is noticed; what it gives is kept as well."""
    programs.change(*change)
    assert programs.run()[-1] == "a capture is kept"
    assert programs.run()[-1] == "a capture is taken"


REPLACED: dict[str, dict[str, Any]] = {
    "function of a module": {"first": "library.helper = lambda x: x + 100"},
    "class of the same name": {
        "first": """class Part(library.Part):
    def forward(self, x):
        return super().forward(x) + 1
Part.__module__, Part.__qualname__ = 'library', 'Part'
library.Part = Part"""
    },
    "method of a class of torch's": {
        "first": """def forward(self, x):
    return torch.nn.functional.linear(x, self.weight) * 2
torch.nn.Linear.forward = forward"""
    },
    "function of torch's": {"first": "torch.relu = torch.tanh"},
    "hook": {"later": "model.parts[0].register_forward_hook(lambda m, i, o: o * 2)"},
    "shared parameter": {"later": "model.parts[1].linear.weight = model.parts[0].linear.weight"},
    "frozen parameter": {"later": "model.parts[1].linear.weight.requires_grad_(False)"},
    "dtype": {"later": "model.double(); x = x.double()"},
    "input of another shape": {"later": "x = torch.randn(5, 4)"},
    "input that needs gradients": {"later": "x.requires_grad_()"},
    "gradients off": {"later": "torch.set_grad_enabled(False)"},
    "training": {"later": "model.eval(); model.forward = lambda x: x + 1"},
}


@pytest.mark.parametrize("change", REPLACED.values(), ids=REPLACED)
def test_changed_object(programs: Programs, change: dict[str, Any]) -> None:
    """What the program replaces before the call is noticed."""
    assert "a capture is taken" not in programs.run(**change)


OTHERWISE: dict[str, dict[str, Any]] = {
    "option": {"first": "ferrodyn.config.assume_static_by_default = False"},
    "number of threads": {"first": "torch.set_num_threads(1 + torch.get_num_threads() % 2)"},
    "environment": {"TORCH_SOMETHING": "1"},
}


@pytest.mark.parametrize("change", OTHERWISE.values(), ids=OTHERWISE)
def test_other_configuration(programs: Programs, change: dict[str, Any]) -> None:
    """Under another configuration nothing is found."""
    assert "a capture is taken" not in programs.run(**change)
    assert programs.run() == TAKEN


#: What is said of captures, without what stands behind a colon.
LISTENING = """\
import json, logging, torch, ferrodyn
said = []
log = logging.getLogger("ferrodyn.captures")
log.setLevel(logging.DEBUG)
handler = logging.Handler()
handler.emit = lambda record: said.append(record.getMessage().partition(":")[0])
log.addHandler(handler)
"""

#: Sizes and ints that change from call to call.
DYNAMIC = (
    LISTENING
    + """\
import sys, torch, ferrodyn
torch.manual_seed(0)

def f(x, k, w, rate):
    y = (x[:, : x.size(0)].reshape(-1, 2) * k + w.size(1)) * (2.0 - rate * 0.5)
    return torch.cat([y, y.new_ones(x.size(0) * 2, 2)]) @ torch.arange(2.0), x.size(0) + k

results = []
compiled = ferrodyn.compile(f, backend=sys.argv[1])
for size, k in json.loads(sys.argv[2]):
    x, w = torch.randn(size, 40), torch.randn(3, size)
    ours, theirs = compiled(x, k, w, k / 4), f(x, k, w, k / 4)
    assert torch.equal(ours[0], theirs[0]) and ours[1] == theirs[1]
print(json.dumps(said))
"""
)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_sizes_that_change(tmp_path: Path, backend: str) -> None:
    """What was compiled for all sizes is taken where the same became of the code before."""
    (tmp_path / "program.py").write_text(DYNAMIC)

    def run(*calls: tuple[int, int]) -> list[str]:
        said = printed(tmp_path, "program.py", backend, [*map(list, calls)])
        return [text for text in said if text.startswith(("a capture is", "no capture is kept"))]

    kept, taken = "a capture is kept", "a capture is taken"
    assert run((4, 3), (6, 5), (8, 7)) == [kept, kept]
    assert run((4, 3), (6, 5), (8, 7)) == [taken, taken]
    assert run((4, 3), (10, 2), (4, 9)) == [taken, taken]
    assert run((6, 3)) == [kept]


#: A function of a library, inlined, that breaks the graph.
BREAKING = """\
import os, torch
SCALE = 2.0

def inner(x, factor=1.5):
    y = x * factor
    os.getpid()
    return y * SCALE

class Part(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x):
        y = self.linear(x)
        try:
            os.stat("/nowhere")
        except OSError as error:
            y = y + error.errno
        return y

    @staticmethod
    def last(x):
        os.getpid()
        return x - 1
"""

#: Graphs that break: in the frame, in what it inlines, in handlers, `with` statements and loops.
BROKEN = (
    LISTENING
    + """\
import os, sys
import breaking

class Managed:
    def __enter__(self):
        os.getpid()
        return 3.0

    def __exit__(self, *exception):
        os.getpid()
        return exception[0] is ZeroDivisionError

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.part = breaking.Part()

    def forward(self, x, flag=True):
        y = breaking.inner(self.part(x))
        values = []
        with Managed() as factor:
            y = y * factor
            values.append(y.sum())
            os.getpid()
            y = y + 1 / (0 if flag else 1)
        total = [value * os.getpid() ** 0 for value in values]
        def closed(z):
            return z * total[0] + y
        os.getpid()
        for value in total:
            y = y + closed(value)
            os.getpid()
        return self.part.last(y), values

torch.manual_seed(0)
model, x = Model(), torch.randn(3, 4)
compiled = ferrodyn.compile(model, backend=sys.argv[1])

def run(function, flag):
    for parameter in model.parameters():
        parameter.grad = None
    y, (value,) = function(x, flag)
    (y.square().sum() + value).backward()
    return [y.detach(), value.detach(), *(p.grad for p in model.parameters())]

for flag in (True, False, True):
    exactly = dict(rtol=0, atol=0) if sys.argv[1] == "eager" else {}
    torch.testing.assert_close(run(compiled, flag), run(model, flag), **exactly)
print(json.dumps(said))
"""
)


def broken(folder: Path, backend: str) -> list[str]:
    """What is said of captures where graphs break; results are eager's."""
    said: list[str] = printed(folder, "program.py", backend)
    return said


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_graph_breaks(tmp_path: Path, backend: str) -> None:
    """All frames of a function whose graph breaks are taken, those behind a break as well."""
    (tmp_path / "program.py").write_text(BROKEN)
    (tmp_path / "breaking.py").write_text(BREAKING)
    first = broken(tmp_path, backend)
    assert first.count("a capture is kept") > 5
    assert "no capture is kept" not in first
    assert "no capture is taken" not in broken(tmp_path, backend)


def test_changes_behind_graph_breaks(tmp_path: Path) -> None:
    """A line that changes before or behind a break, in what is inlined, is noticed."""
    (tmp_path / "program.py").write_text(BROKEN)
    library = BREAKING
    for old, new in [
        ("SCALE = 2.0", "SCALE = 3.0"),
        ("* SCALE", "/ SCALE"),
        ("return x - 1", "return x - 2"),
        ("factor=1.5", "factor=2.5"),
    ]:
        library = library.replace(old, new)
        (tmp_path / "breaking.py").write_text(library)
        assert "a capture is kept" in broken(tmp_path, "eager")
    assert "no capture is taken" not in broken(tmp_path, "eager")


def test_breaks_are_told(tmp_path: Path) -> None:
    """Who asks why a graph breaks is told, though a capture is kept."""
    (tmp_path / "program.py").write_text(
        LISTENING
        + """\
import os

def f(x):
    y = x + 1
    os.getpid()
    return y * 2

explained = ferrodyn.explain(f)(torch.ones(2))
ferrodyn.reset()
assert torch.equal(ferrodyn.compile(f, backend="eager")(torch.ones(2)), f(torch.ones(2)))
print(json.dumps([said, explained.graph_break_count]))
"""
    )
    for _ in range(2):
        said, count = printed(tmp_path, "program.py")
        assert count == 1
    assert "a capture is taken" in said


def test_parameter_of_another_shape(programs: Programs) -> None:
    """A layer that does not fit raises what it raises in eager mode."""
    with pytest.raises(AssertionError, match="shapes cannot be multiplied"):
        programs.run(width="width = 5")


def test_flipped_byte(programs: Programs) -> None:
    """A capture that has changed since it was written is not read."""
    (manifest,) = (programs.folder / "cache" / "captures").glob("*/manifest")
    data = manifest.read_bytes()
    for at in (0, len(data) // 2, len(data) - 1):
        data = manifest.read_bytes()
        manifest.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        assert programs.run() == ["no capture is taken", "a capture is kept"]
    assert programs.run() == TAKEN


def test_switches(programs: Programs) -> None:
    """The cache is off with all that is kept, or captures alone."""
    assert programs.run(FERRODYN_CACHE="0") == []
    assert programs.run(FERRODYN_CACHE_CAPTURES="0") == []
    assert programs.run(first="ferrodyn.config.cache = False") == []


#: What is another thing in each process: addresses, hashes, the order of sets.
OF_PROCESS = """\
import json, logging, torch, ferrodyn

def hashed(x):
    return x + hash("text") % 1000

def ordered(x):
    return x * float("".join(str(ord(c)) for c in {"a", "b", "c", "d"}))

class Thing:
    pass

THING = Thing()

def address(x):
    return x + id(THING) % 1000
"""


def test_process_dependent(tmp_path: Path) -> None:
    """What follows from an address, a hash or the order of a set is not kept."""
    (tmp_path / "program.py").write_text(
        OF_PROCESS
        + """
said = []
log = logging.getLogger("ferrodyn.captures")
log.setLevel(logging.DEBUG)
handler = logging.Handler()
handler.emit = lambda record: said.append(record.getMessage())
log.addHandler(handler)
x = torch.ones(3)
for f in hashed, ordered, address:
    assert torch.equal(ferrodyn.compile(f, backend="eager")(x), f(x))
print(json.dumps(said))
"""
    )
    for seed in "12":
        said = printed(tmp_path, "program.py", PYTHONHASHSEED=seed)
        kept = [text for text in said if text.startswith("a capture is")]
        assert not kept, said


METACLASS = (
    LISTENING
    + """\
import torch, ferrodyn
reads = []

class Watched(type):
    def __getattribute__(cls, name):
        reads.append(name)
        return super().__getattribute__(name)

class Thing(metaclass=Watched):
    def __init__(self):
        self.factor = 2.0

THING = Thing()

def function(x):
    return x * THING.factor

x = torch.ones(2)
expected = function(x)
del reads[:]
assert torch.equal(ferrodyn.compile(function, backend="eager")(x), expected)
print(json.dumps([said, reads]))
"""
)


def test_a_metaclass_is_not_asked(tmp_path: Path) -> None:
    """What a class is made of is read without code of its metaclass, or the capture is not kept."""
    (tmp_path / "program.py").write_text(METACLASS)
    runs = [printed(tmp_path, "program.py", FERRODYN_CACHE_CAPTURES=on) for on in "011"]
    assert [said[-1:] for said, _ in runs] == [[], *[["no capture is kept"]] * 2]
    assert runs[0][1] == runs[1][1] == runs[2][1]
