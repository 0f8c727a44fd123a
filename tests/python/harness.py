"""Runs a program plainly and compiled, and compares everything that it did.

What is compared: results, the inputs afterwards, the module's globals, gradients, what was
printed, logged and warned about (in one order), the state of the random generators, exceptions
(type, text, line), and identity and storage sharing among all of those.
"""

from __future__ import annotations

import builtins
import collections
import contextlib
import copy
import copyreg
import enum
import functools
import io
import logging
import random
import re
import sys
import traceback
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import sympy  # noqa: F401 (a program with sizes imports it, and it adds to `REDUCTIONS`)
import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

#: What copyreg knows before tests import libraries that add to it: a program that copies is
#: guarded on the table.
REDUCTIONS = dict(copyreg.dispatch_table)

#: True under ``--reference``: programs run under torch.compile, to test the tests.
REFERENCE = False

#: The name of a backend that compiles the cases in place of a recorder, under ``--backend``.
BACKEND: str | None = None

#: Programs and their arguments are made in this context: under ``--device``, tensors are there.
DEVICE: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()


def compile(fn: Any, **choices: Any) -> Any:
    """Compile with Ferrodyn, or with torch under ``--reference``."""
    if REFERENCE:
        return torch.compile(fn, **{"dynamic": False, **choices})
    import ferrodyn

    return ferrodyn.compile(fn, **choices)


def reset() -> None:
    """Forget all compiled code."""
    if REFERENCE:
        torch._dynamo.reset()
    else:
        import ferrodyn

        ferrodyn.reset()


class Recorder:
    """A backend that runs graphs as they are and keeps them."""

    def __init__(self) -> None:
        self.graphs: list[torch.fx.GraphModule] = []

    def __call__(self, graph: torch.fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
        self.graphs.append(graph)
        return graph.forward

    def ops(self) -> list[int]:
        """The number of operations in each graph."""
        return [
            sum(node.op.startswith("call_") for node in graph.graph.nodes) for graph in self.graphs
        ]


class Counting:
    """A backend that runs graphs as they are and counts them."""

    def __init__(self) -> None:
        self.graphs = 0

    def __call__(self, graph: torch.fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
        self.graphs += 1
        return graph.forward


# What a program did, in a form that can be compared


class Describer:
    """Turns objects into plain data.

    Objects with identity are numbered in the order in which they are met, and so are tensor
    storages: two descriptions are equal only if identity and sharing are the same in both.
    """

    _ATOMS = (bool, int, str, bytes, type(None), type(Ellipsis), type(NotImplemented))

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._storages: dict[int, int] = {}
        self._alive: list[Any] = []
        self._shown: set[int] = set()

    def begin(self) -> None:
        """Begin to describe a new moment: show the contents of known objects again."""
        self._shown.clear()

    def __call__(self, value: Any) -> Any:
        kind = type(value)
        if isinstance(value, enum.Enum):
            return kind.__qualname__, value.name
        if kind in self._ATOMS:
            return kind.__name__, value
        if kind in (float, complex):
            # As text, so that nan equals itself and -0.0 differs from 0.0.
            return kind.__name__, repr(value)
        if isinstance(value, np.generic):
            return kind.__name__, repr(value)
        if isinstance(value, (logging.Logger, logging.LoggerAdapter)):
            return kind.__qualname__, value.name, value.getEffectiveLevel()
        if kind is slice:
            return "slice", [self(part) for part in (value.start, value.stop, value.step)]
        if kind in (tuple, frozenset) or isinstance(value, (tuple, torch.Size)):
            items = sorted(value, key=repr) if kind is frozenset else value
            return kind.__qualname__, [self(item) for item in items]
        if isinstance(value, (torch.dtype, torch.device, torch.layout, range)):
            return kind.__name__, repr(value)
        if isinstance(value, (type, types.ModuleType, types.BuiltinFunctionType)):
            return kind.__name__, getattr(value, "__qualname__", value.__name__)
        if id(value) not in self._numbers:
            self._alive.append(value)
        number = self._numbers.setdefault(id(value), len(self._numbers))
        if number in self._shown:
            return "seen", number
        self._shown.add(number)
        return kind.__qualname__, number, *self._contents(value)

    def _contents(self, value: Any) -> Iterator[Any]:
        if isinstance(value, torch.Tensor):
            yield from self._tensor(value)
        elif isinstance(value, dict):
            yield [(self(key), self(item)) for key, item in value.items()]
            if isinstance(value, collections.defaultdict):
                yield self(value.default_factory)
        elif isinstance(value, (set, frozenset)):
            yield [self(item) for item in sorted(value, key=repr)]
        elif isinstance(value, (list, collections.deque)):
            yield [self(item) for item in value]
        elif isinstance(value, BaseException):
            yield self(value.args)
        elif isinstance(value, types.FunctionType):
            yield value.__name__
        elif isinstance(value, types.MethodType):
            yield self(value.__self__)
            yield value.__name__
        elif isinstance(value, functools.partial):
            yield self(value.args)
            yield self(value.keywords)
        elif isinstance(value, types.GeneratorType):
            yield "generator"
        elif isinstance(value, io.StringIO) and not value.closed:
            yield value.getvalue()
        elif isinstance(value, np.ndarray):
            yield str(value.dtype), value.strides, value.tolist()
        if isinstance(value, torch.nn.Module):
            yield [(name, self(item)) for name, item in value.named_parameters()]
            yield [(name, self(item)) for name, item in value.named_buffers()]
            yield value.training
        # Names that begin with an underscore are often caches of a library's own.
        attributes = getattr(value, "__dict__", None)
        if isinstance(attributes, dict) and not isinstance(value, types.FunctionType):
            yield [
                (name, self(item)) for name, item in attributes.items() if not name.startswith("_")
            ]
        for base in type(value).__mro__:
            slots = base.__dict__.get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if not name.startswith("_") and hasattr(value, name):
                    yield name, self(getattr(value, name))

    def _tensor(self, tensor: torch.Tensor) -> Iterator[Any]:
        # The size of rows that differ in length is named by what the tensor holds.
        is_jagged = tensor.layout == torch.jagged
        shape = tuple(n if isinstance(n, int) else "ragged" for n in tensor.shape)
        yield str(tensor.dtype), shape, str(tensor.device)
        yield tensor.requires_grad, tensor.is_leaf
        if tensor.layout != torch.strided and not is_jagged:
            yield str(tensor.layout), tensor.detach().to_dense().tolist().__repr__()
            return
        if tensor.is_quantized:
            yield tensor.qscheme(), tensor.int_repr().tolist().__repr__()
            return
        if not is_jagged:
            yield tensor.stride(), tensor.storage_offset(), tensor.is_conj(), tensor.is_neg()
        if is_traceable_wrapper_subclass(tensor):
            names, context = tensor.__tensor_flatten__()
            yield "holds", [(name, self(getattr(tensor, name))) for name in names], self(context)
            if tensor.is_leaf and tensor.requires_grad:
                yield "grad", self(tensor.grad)
            return
        if tensor.is_meta:  # It has neither data nor an address.
            return
        storage = tensor.untyped_storage()
        self._alive.append(storage)
        yield "storage", self._storages.setdefault(storage.data_ptr(), len(self._storages))
        yield repr(tensor.detach().resolve_conj().resolve_neg().cpu().tolist())
        if tensor.is_leaf and tensor.requires_grad:
            yield "grad", self(tensor.grad)


def describe_error(error: BaseException, file: str) -> Any:
    """Type, text, cause, and the innermost line of the user's that an exception names."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == file
    ]
    cause = error.__cause__
    return {
        "type": type(error).__qualname__,
        "text": str(error),
        "line": lines[-1] if lines else None,
        "cause": None if cause is None else (type(cause).__qualname__, str(cause)),
    }


def differences(left: Any, right: Any, path: str = "") -> Iterator[str]:
    """Say where two descriptions differ, from the outside in."""
    if type(left) is not type(right):
        yield f"{path}: {left!r} is not {right!r}"
    elif isinstance(left, dict):
        for key in {**left, **right}:
            yield from differences(left.get(key), right.get(key), f"{path}.{key}")
    elif isinstance(left, (list, tuple)):
        if len(left) != len(right):
            yield f"{path}: {len(left)} items are not {len(right)}: {left!r} is not {right!r}"
            return
        for index, (one, other) in enumerate(zip(left, right, strict=True)):
            yield from differences(one, other, f"{path}[{index}]")
    elif left != right:
        yield f"{path}: {left!r} is not {right!r}"


def assert_same(eager: Any, compiled: Any) -> None:
    """Fail with the places at which the two descriptions differ."""
    found = list(differences(eager, compiled, "program"))
    assert not found, "eager is not compiled:\n  " + "\n  ".join(found[:20])


# Runs


def _seed() -> None:
    if isinstance(DEVICE, torch.device) or torch.cuda.is_initialized():
        torch.manual_seed(20)
    else:
        # The other takes down the stack for each kind of device that is not in use.
        torch.default_generator.manual_seed(20)
    random.seed(20)
    with contextlib.suppress(ImportError):
        import numpy

        numpy.random.seed(20)


def _backward(value: Any, seen: set[int] | None = None) -> None:
    """Call backward on each tensor in `value` that takes part in autograd."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, torch.Tensor):
        if value.grad_fn is not None and value.dtype.is_floating_point:
            value.sum().backward(retain_graph=True)
    elif isinstance(value, (list, tuple, dict)):
        # No list is made for the items of a dict: its id might be that of one before.
        items = value.values() if isinstance(value, dict) else value
        for item in items:
            _backward(item, seen)


def run_calls(
    fn: Callable[..., Any],
    calls: list[tuple[Any, ...]],
    file: str,
    state: Callable[[], Any] = lambda: None,
    backward: bool = True,
    before: Callable[[int], Any] = lambda index: None,
) -> Any:
    """Call `fn` with each tuple of arguments and describe all that happened.

    A dict as the last argument of a call whose keys all are strings ending in ``=`` holds
    keyword arguments.
    """
    _seed()
    describe = Describer()
    record = []
    for index, call in enumerate(calls):
        before(index)
        args, kwargs = split_call(call)
        printed = io.StringIO()
        describe.begin()
        with contextlib.redirect_stdout(printed), _told(printed, file):
            try:
                result = fn(*args, **kwargs)
            except Exception as error:
                outcome = {"error": describe_error(error, file)}
                result = None
            else:
                if backward:
                    _backward(result)
                outcome = {"result": describe(result)}
        record.append(
            {
                **outcome,
                "inputs": describe((args, kwargs)),
                "state": describe(state()),
                "printed": printed.getvalue(),
                "torch random": torch.get_rng_state().sum().item(),
                "cuda random": _cuda_random(),
                "python random": hash(random.getstate()),
                "grad mode": torch.is_grad_enabled(),
            }
        )
    return record


def _cuda_random() -> list[Any]:
    states = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    return [state.sum().item() for state in states]


@contextlib.contextmanager
def _told(into: io.StringIO, file: str) -> Iterator[None]:
    """Write log records and the warnings that name `file` into the printed text, in order."""

    # A library's handler: what code of the program gets breaks the graph.
    handler = logging.StreamHandler(into)
    handler.setFormatter(
        logging.Formatter(
            "\0%(name)s\0[%(levelname)s %(name)s ('%(filename)s', %(lineno)d, '%(funcName)s'): "
            "%(message)s]"
        )
    )
    handler.terminator = "\n\0"
    logging.getLogger().addHandler(handler)
    logging.captureWarnings(True)
    try:
        yield
    finally:
        logging.captureWarnings(False)
        logging.getLogger().removeHandler(handler)
        told = re.sub(
            "\0([^\0]*)\0([^\0]*)\0", lambda m: _shown(*m.groups(), file), into.getvalue()
        )
        into.seek(0)
        into.truncate()
        into.write(told)


def _shown(logger: str, text: str, file: str) -> str:
    """What is kept of a record."""
    if logger == "py.warnings":
        place = re.escape(file) + r":(?P<line>\d+): (?P<category>\w+): (?P<message>.*)"
        found = re.search(place, text)
        if not found or "Triggered internally" in text:
            return ""
        return "[{category} {line}: {message}]\n".format(**found.groupdict())
    return "" if logger.split(".")[0] in ("ferrodyn", "torch") else text


def split_call(call: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Split a call into arguments and keyword arguments; see :func:`run_calls`."""
    if call and isinstance(call[-1], dict) and call[-1]:
        names = list(call[-1])
        if all(isinstance(name, str) and name.endswith("=") for name in names):
            return call[:-1], {name[:-1]: value for name, value in call[-1].items()}
    return call, {}


def check(
    fn: Callable[..., Any],
    *args: Any,
    calls: list[tuple[Any, ...]] | None = None,
    graphs: int | None = None,
    backward: bool = True,
    **choices: Any,
) -> Recorder:
    """Compare `fn` compiled with `fn` run plainly, on copies of the same inputs.

    `calls` are several argument tuples, instead of `args`. `graphs` is how many graphs all
    calls together must have given. Returns the recorder, with those graphs.
    """
    calls = [args] if calls is None else calls
    file = getattr(getattr(fn, "__code__", None), "co_filename", "")
    reset()
    expected = run_calls(fn, copy.deepcopy(calls), file, backward=backward)
    recorder = Recorder()
    compiled = compile(fn, backend=recorder, **choices)
    assert_same(expected, run_calls(compiled, copy.deepcopy(calls), file, backward=backward))
    if graphs is not None:
        assert len(recorder.graphs) == graphs, [str(graph.graph) for graph in recorder.graphs]
    return recorder


# Cases: one small program a file


class Case:
    """A file of tests/cases, loaded: `fn` or `make`, `inputs` or `calls`, expectations."""

    def __init__(self, path: Path) -> None:
        self.path = path
        module = types.ModuleType(f"case_{path.stem}")
        module.__file__ = str(path)
        # Classes of the program find their module by name, for pickling and dataclasses.
        sys.modules[module.__name__] = module
        _seed()
        with DEVICE:
            exec(builtins.compile(path.read_text(), str(path), "exec"), module.__dict__)
        self.module = module

    def get(self, name: str, default: Any = None) -> Any:
        """A name of the program, such as the expectation ``GRAPHS``."""
        return getattr(self.module, name, default)

    def target(self) -> Any:
        """What to call or compile."""
        _seed()
        make = self.get("make")
        with DEVICE:
            return self.module.fn if make is None else make()

    def calls(self) -> list[tuple[Any, ...]]:
        """The argument tuples; for a program with `inputs`, two calls, the second to reuse."""
        _seed()
        with DEVICE:
            if calls := self.get("calls"):
                return calls()
            return [self.module.inputs(), self.module.inputs()]

    def state(self) -> dict[str, Any]:
        """The program's data: its globals but for functions, classes and modules."""
        skip = (type, types.ModuleType, types.FunctionType)
        return {
            name: value
            for name, value in vars(self.module).items()
            if not name.startswith("__") and not isinstance(value, skip) and not name.isupper()
        }

    def run(self, target: Any) -> Any:
        """Run all calls on `target` and describe what happened."""
        with self.options():
            return run_calls(
                target,
                self.calls(),
                str(self.path),
                self.state,
                self.get("BACKWARD", True),
                self.get("before", lambda index: None),
            )

    def options(self) -> contextlib.AbstractContextManager[Any]:
        """The options of the case, in force."""
        options = self.get("OPTIONS")
        if options is None:
            return contextlib.nullcontext()
        if REFERENCE:
            import torch._dynamo

            return torch._dynamo.config.patch(**options)
        import ferrodyn

        return ferrodyn.config.patch(**options)


@contextlib.contextmanager
def captured_logs(*kinds: str) -> Iterator[list[tuple[str, str]]]:
    """Collect the records of the loggers ``ferrodyn.<kind>`` as pairs of kind and text."""
    records: list[tuple[str, str]] = []

    class Collect(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append((record.name.removeprefix("ferrodyn."), record.getMessage()))

    handler = Collect()
    saved = []
    for kind in kinds:
        logger = logging.getLogger(f"ferrodyn.{kind}")
        saved.append((logger, logger.level, logger.propagate))
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
        logger.addHandler(handler)
    try:
        yield records
    finally:
        for logger, level, propagate in saved:
            logger.setLevel(level)
            logger.propagate = propagate
            logger.removeHandler(handler)
