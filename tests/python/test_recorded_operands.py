"""What each operation of a graph is given is what eager gives it: value by value, call by call.

A wrong operand of the right shape may leave no trace in a result, or in one that is close. So the
operations that reach the dispatcher are recorded with checksums of all tensors among their
arguments, in eager's run and in a run of the graph that the backend gets. `FERRODYN_SEEDS=0-10000`
runs those programs instead of the usual few; a failure names its seed, and
`python tests/python/operand_programs.py SEED` prints the program.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import harness
import operand_programs
import pytest
import seeded
import torch
from torch._higher_order_ops.map import map as map_rows
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

Call = tuple[Any, ...]

#: Operations that only make another tensor of a value, or read a predicate: eager's run has others
#: of them than an operator that gets functions, and autograd adds copies of what is written to.
SILENT = {
    "aten.detach.default",
    "aten.alias.default",
    "aten.clone.default",
    "aten.lift_fresh.default",
    "aten.is_nonzero.default",
    "aten._local_scalar_dense.default",
}


# What the operators of functions mean, a row and a round at a time


def plain_cond(pred: Any, yes: Any, no: Any, operands: Any = ()) -> Any:
    """Run one of the two."""
    return (yes if pred else no)(*operands)


def plain_while_loop(goes_on: Any, body: Any, carried: Any, others: Any = ()) -> Any:
    """Run the body as long as it is to go on."""
    carried = tuple(carried)
    while goes_on(*carried, *others):
        carried = tuple(body(*carried, *others))
    return carried


def _rows(tensors: Any) -> list[Any]:
    count = tree_leaves(tensors)[0].shape[0]
    return [tree_map(lambda t, at=at: t.select(0, at), tensors) for at in range(count)]


def _stacked(results: list[Any]) -> Any:
    return tree_map(lambda *rows: torch.stack(rows), *results)


def plain_map(f: Any, xs: Any, *others: Any) -> Any:
    """Run the function for each row."""
    return _stacked([f(row, *others) for row in _rows(xs)])


def plain_scan(f: Any, carry: Any, xs: Any) -> Any:
    """Run the function for each row, with what it carries on."""
    results = []
    for row in _rows(xs):
        carry, result = f(carry, row)
        results.append(result)
    return carry, _stacked(results)


PLAIN = {
    "cond": plain_cond,
    "while_loop": plain_while_loop,
    "map_rows": plain_map,
    "scan": plain_scan,
}
OPERATORS = {"cond": torch.cond, "while_loop": while_loop, "map_rows": map_rows, "scan": scan}


def _operator(name: str, args: tuple[Any, ...]) -> Any:
    """Run an operator of a graph in the plain way."""
    if name == "cond":
        return plain_cond(*args)
    if name == "while_loop":
        return plain_while_loop(*args)
    if name == "map_impl":
        f, xs, others = args
        return _stacked([f(*row, *others) for row in _rows(list(xs))])
    f, init, xs, others = args
    carry, results = list(init), []
    for row in _rows(list(xs)):
        made = f(*carry, *row, *others)
        carry = list(made[: len(init)])
        results.append(tuple(made[len(init) :]))
    return [*carry, *_stacked(results)]


class _Operators(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if isinstance(func, torch._ops.HigherOrderOperator):
            with self:
                return _operator(func.name(), args)
        return func(*args, **(kwargs or {}))


def _checksum(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        if torch._C._functorch.is_functorch_wrapped_tensor(value) or value._is_zerotensor():
            return str(value.dtype), tuple(value.shape)
        with torch.no_grad():
            data = value.detach().contiguous().numpy().tobytes()
        return str(value.dtype), tuple(value.shape), hashlib.sha1(data).hexdigest()[:12]
    return repr(value)


class _Recorder(TorchDispatchMode):
    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if isinstance(func, torch._ops.HigherOrderOperator):
            with self:
                return _operator(func.name(), args)
        if str(func) not in SILENT:
            given = [_checksum(v) for v in tree_leaves((args, kwargs or {}))]
            self.calls.append((str(func), *given))
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def plain_where_it_breaks() -> Iterator[None]:
    """Run an operator in the plain way where it is not captured: there torch compiles it itself."""

    def call(fn: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        for name in ("while_loop", "cond", "map"):
            if name in fn.__name__:
                return _operator(name.replace("map", "map_impl"), args)
        if "scan" in fn.__name__:
            # It has the program's function and tensors without what that closes over.
            f, init, xs = args
            made = _operator("scan", (f, init, xs, ()))
            return made[: len(init)], made[len(init) :]
        return fn(*args)

    import ferrodyn

    place = torch._higher_order_ops.utils
    with mock.patch.object(place, "_hop_compile_and_call", ferrodyn.disable(call)):
        yield


def recorded(fn: Callable[..., Any], *args: Any) -> tuple[Any, list[Call]]:
    """Return what a call gives, and the operations that it came to."""
    recorder = _Recorder()
    with _Operators(), recorder:
        result = fn(*args)
    return result, recorder.calls


def _copy(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    copy = value.detach().clone()
    if isinstance(value, torch.nn.Parameter):
        # A comparison with a plain tensor asks the parameter first.
        return torch.nn.Parameter(copy, value.requires_grad)
    return copy.requires_grad_(value.requires_grad)


class RecordingBackend:
    """Keeps the graphs that it gets, with copies of their inputs."""

    def __init__(self) -> None:
        self.graphs: list[tuple[torch.fx.GraphModule, list[Any]]] = []

    def __call__(self, graph: torch.fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
        self.graphs.append((graph, [_copy(t) for t in inputs]))
        return graph.forward

    def calls(self) -> list[Call]:
        """Run the graphs, and return their operations."""
        return [
            call for graph, inputs in self.graphs for call in recorded(graph.forward, *inputs)[1]
        ]


def missing(calls: list[Call], among: list[Call]) -> Call | None:
    """Return the first of the calls that is not among the others in the same order."""
    rest = iter(among)
    return next((call for call in calls if not any(call == other for other in rest)), None)


def _arguments(records: bool) -> tuple[Any, ...]:
    generator = torch.Generator().manual_seed(99)
    x, y = (torch.rand(3, generator=generator) for _ in range(2))
    return x.requires_grad_(records), y, torch.tensor(records)


def _namespace(seed: int, operators: dict[str, Any]) -> dict[str, Any]:
    text = operand_programs.Generator(seed).program()
    namespace: dict[str, Any] = {"__name__": "generated", **operators}
    exec(compile(text, f"<operands {seed}>", "exec"), namespace)
    namespace["loops"] = "while_loop" in text
    return namespace


def _outcome(seed: int, namespace: dict[str, Any], fn: Any) -> list[Any]:
    """What a call gives, and the gradients."""
    records = seed % 2 == 1
    args = _arguments(records)
    made = fn(*args)
    wanted = [args[0], *namespace["net"].parameters(), *namespace["other"].parameters()]
    differentiable = [t for t in made if t.requires_grad]
    grads: Any = [None] * len(wanted)
    # The gradients that torch's while_loop gives for what its body closes over are not those of a
    # loop in Python.
    if records and differentiable and not namespace["loops"]:
        total = sum((at + 1) * t.sum() for at, t in enumerate(made) if t.requires_grad)
        grads = torch.autograd.grad(total, wanted, allow_unused=True)
    # An operator of functions gives zeros for what only one of its functions uses.
    pairs = zip(wanted, grads, strict=True)
    return [*made, *(torch.zeros_like(t) if grad is None else grad for t, grad in pairs)]


def difference(seed: int, backend: Any = None) -> str | None:
    """Return how a program differs from eager, if it does."""
    plain = _namespace(seed, PLAIN)
    try:
        expected = _outcome(seed, plain, plain["make"]())
    except RuntimeError:
        # A write to what the backward pass needs.
        return None
    plain = _namespace(seed, PLAIN)
    _, eager = recorded(plain["make"](), *_arguments(seed % 2 == 1))
    harness.reset()
    recorder = RecordingBackend()
    namespace = _namespace(seed, OPERATORS)
    fn = harness.compile(namespace["make"](), backend=backend or recorder)
    try:
        with plain_where_it_breaks():
            found = _outcome(seed, namespace, fn)
    except Exception as error:
        return None if _torch_raises(seed, error) else f"raises {error!r}"
    if (call := missing(recorder.calls(), eager)) is not None:
        return f"no such call in eager: {call}"
    wrong = [at for at, pair in enumerate(zip(expected, found, strict=True)) if not _close(*pair)]
    if wrong:
        allowed = _torch_outcome(seed)
        wrong = [at for at in wrong if not _close(found[at], allowed[at])]
    return f"{found[wrong[0]]} for {expected[wrong[0]]}" if wrong else None


def _close(left: Any, right: Any) -> bool:
    return torch.allclose(left, right, rtol=1e-5, atol=1e-6)


def _torch_outcome(seed: int, compiler: Callable[..., Any] = lambda fn: fn) -> list[Any]:
    """What torch's own operators give, in eager mode unless a compiler is given."""
    namespace = _namespace(seed, OPERATORS)
    with plain_where_it_breaks():
        return _outcome(seed, namespace, compiler(namespace["make"]()))


def _torch_raises(seed: int, error: Exception) -> bool:
    """Whether torch raises the same, in eager mode or under torch.compile."""

    def text(raised: Exception) -> str:
        # What torch adds to the message of an operation that fails begins with a line of its own.
        return str(raised).partition("\n")[0]

    def compiler(fn: Callable[..., Any]) -> Callable[..., Any]:
        torch._dynamo.reset()
        return torch.compile(fn, backend="eager")

    for made_by in ((), (compiler,)):
        try:
            _torch_outcome(seed, *made_by)
        except Exception as raised:
            if type(raised) is type(error) and text(raised) == text(error):
                return True
    return False


@pytest.mark.own
@pytest.mark.once
@pytest.mark.parametrize(
    "seeds", seeded.batches("0-40", 20), ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}"
)
def test_operands_are_eager(seeds: range) -> None:
    """Every operation of every graph got what eager gave it."""
    failed = [f"seed {seed}: {text}" for seed in seeds if (text := difference(seed))]
    assert not failed, "\n".join(failed)
