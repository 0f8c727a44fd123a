"""What a kept capture names is found again in another process, and told by its content.

Operators, functions with caches and closures, what is registered with abstract classes, weak
references, named tuples, functions of arrays, control flow, modules of Ferrodyn's own that the
process has not made yet, graphs that operations are given.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from kept_programs import printed

pytestmark = [pytest.mark.own, pytest.mark.once]

LIBRARY = """\
import abc, collections, functools, weakref
import torch

@torch.library.custom_op("kept::wide", mutates_args=())
def wide(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x] * 2)

@wide.register_fake
def _(x):
    return x.new_empty(2 * x.shape[0])

@functools.lru_cache
def scale():
    return 2.0

def closing(factor):
    def op(x):
        return x * factor
    return torch.compiler.allow_in_graph(op)

op = closing(3.0)

class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 7

SCALE = 2.0

settings = {"deep": [[[[[[[[[[[[int]]]]]]]]]]]], "factor": 5.0}

class Configured:
    def __init__(self, settings):
        self.__dict__ = settings

configured = Configured(settings)

class Abstract(abc.ABC):
    pass

Abstract.register(list)

Pair = collections.namedtuple("Pair", "first second")

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Parameter(torch.ones(3))
        self.second = torch.nn.Parameter(torch.ones(3))
        self.tied = weakref.ref(self.first)

model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""

PROGRAM = """\
import collections, functools, json, logging, sys, numpy, torch, torch.utils.checkpoint
import ferrodyn
import library

said = []

class Handler(logging.Handler):
    def emit(self, record):
        said.append(record.getMessage())

log = logging.getLogger("ferrodyn.captures")
log.setLevel(logging.DEBUG)
log.addHandler(Handler())

def operator(x):
    y = library.wide(x)
    return y * y.shape[0]

def cached(x):
    return x * library.scale()

def closure(x):
    return library.op(x) + 1

def registered(x):
    return x + 1 if isinstance([], library.Abstract) else x - 1

def mapping(x):
    return x + 1 if isinstance({}, collections.abc.Mapping) else x - 1

def reference(x):
    is_first = library.model.tied() is library.model.first
    return x * library.model.first if is_first else x + library.model.second

def numbers(x):
    total = x
    for number in {3, 1, 2}:
        total = total * number + hash(number)
    return total

def scaled(x, number=numpy.float64(2.5)):
    return x * number

def differentiated(x):
    return library.Doubled.apply(x) + 1

def branches(x):
    return torch.cond(x.sum() > 2, lambda x: x.sin(), lambda x: x.cos() * library.SCALE, (x,))

def loop(x):
    goes_on = lambda i, y: i < 3
    body = lambda i, y: (i + 1, y * library.SCALE)
    return torch.while_loop(goes_on, body, (torch.tensor(0), x.detach()))[1]

def arrays(x):
    array = x.detach().numpy()
    made = numpy.sin(array) + array[:2].sum() * array.reshape(3, 1).T[0]
    return x * torch.from_numpy(made)

def pair(x):
    return library.Pair(x + 1, x * 2)

def hooked(x):
    y = x * 2
    y.register_hook(lambda gradient: gradient * 3)
    return y.sin()

def compared(x):
    for number in sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: b - a)):
        x = x * number + 1
    return x

def checkpointed(x):
    inner = lambda y: (y * library.SCALE).sin() * x
    return torch.utils.checkpoint.checkpoint(inner, x * 2, use_reentrant=False)

def configured(x):
    for name, value in library.configured.__dict__.items():
        x = x * value if name == "factor" else x + len(name)
    return x + 1 if library.configured.__dict__ is library.settings else x

def without_gradients(x):
    for parameter in library.model.parameters():
        parameter.grad = torch.ones(3)
    library.optimizer.zero_grad()
    return x * library.model.first

x = torch.arange(3.0, requires_grad=True)
as_lists = lambda y: torch.stack(list(y)).tolist()
outcomes = {}
for name in sys.argv[1:]:
    function = globals()[name]
    compiled = ferrodyn.compile(function, backend="eager")
    results = [as_lists(run(x)) for run in (compiled, function, compiled)]
    outcomes[name] = [results, said[:]]
    said.clear()
print(json.dumps(outcomes))
"""

#: For each function what may change in the library, if anything.
CHANGES: dict[str, list[tuple[str, str]]] = {
    "operator": [("[x] * 2", "[x] * 3"), ("(2 * x.shape[0])", "(3 * x.shape[0])")],
    "cached": [("return 2.0", "return 4.0")],
    "closure": [("closing(3.0)", "closing(5.0)")],
    "registered": [("Abstract.register(list)", "")],
    "mapping": [],
    "reference": [("weakref.ref(self.first)", "weakref.ref(self.second)")],
    "numbers": [],
    "scaled": [],
    "arrays": [],
    "differentiated": [("gradient * 7", "gradient * 5")],
    "branches": [("SCALE = 2.0", "SCALE = 4.0")],
    "loop": [("SCALE = 2.0", "SCALE = 4.0")],
    "hooked": [],
    "compared": [],
    "checkpointed": [("SCALE = 2.0", "SCALE = 4.0")],
    "configured": [('"factor": 5.0', '"factor": 6.0')],
    # A change of `reference`: its model is of the class that changes.
    "without_gradients": [("weakref.ref(self.first)", "weakref.ref(self.second)")],
    "pair": [('"first second"', '"second first"')],
}


def test_what_captures_name(tmp_path: Path) -> None:
    library = tmp_path / "library.py"
    library.write_text(LIBRARY)
    (tmp_path / "program.py").write_text(PROGRAM)

    def said(**env: str) -> dict[str, list[str]]:
        env = {"PYTHONDONTWRITEBYTECODE": "1", **env}
        found = {}
        outcomes = printed(tmp_path, "program.py", *CHANGES, **env)
        for function, ((compiled, eager, again), messages) in outcomes.items():
            assert compiled == eager == again, function
            wanted = [m for m in messages if m.startswith(("a capture is", "no capture is kept"))]
            found[function] = [message.partition(":")[0] for message in wanted] or messages
        return found

    assert said() == dict.fromkeys(CHANGES, ["a capture is kept"])
    assert said(PYTHONHASHSEED="7") == dict.fromkeys(CHANGES, ["a capture is taken"])
    text = library.read_text()
    for old, new in {change for changes in CHANGES.values() for change in changes}:
        assert text.count(old) == 1
        text = text.replace(old, new)
    library.write_text(text)
    assert said() == {
        function: ["a capture is kept" if changes else "a capture is taken"]
        for function, changes in CHANGES.items()
    }
