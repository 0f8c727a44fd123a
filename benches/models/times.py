"""How long a model takes to be captured, and how long its calls take afterwards.

Everything is CPU time of the thread, so that other programs on the machine are not measured, and
is taken in turns: eager, Ferrodyn, torch.compile. Both compilers get the same backend, a no-op one
unless another is asked for.

What a capture costs is a first call less a later one, measured after a reset in a process that has
compiled the model before: no import and no cold cache is in it.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from typing import Any

#: CPU seconds of this thread.
_clock = time.thread_time


def _backend(graph: Any, inputs: list[Any]) -> Any:
    """Run the graph as it is: what is measured is the capture."""
    return graph.forward


class _Call:
    """A model and its inputs, ready to be called again and again."""

    def __init__(self, case: Any, options: Any, compile: Callable[[Any], Any]) -> None:
        import torch

        self.case = case
        self.grad = case.grad or options.train
        fn = case.build()
        if options.train and isinstance(fn, torch.nn.Module):
            fn.train()
        self.target = compile(fn)
        self.args, self.kwargs = case.inputs(2)

    def seconds(self, count: int = 1) -> float:
        """Return the CPU seconds of `count` calls."""
        import torch

        total = 0.0
        with torch.set_grad_enabled(self.grad):
            if self.case.mutates:
                for _ in range(count):
                    args, kwargs = self.case.inputs(2)
                    start = _clock()
                    self.target(*args, **kwargs)
                    total += _clock() - start
                return total
            target, args, kwargs = self.target, self.args, self.kwargs
            repeat = range(count)
            start = _clock()
            for _ in repeat:
                target(*args, **kwargs)
            return _clock() - start


def _first(case: Any, options: Any, compile: Any, reset: Callable[[], Any]) -> float:
    """Return what a first call takes beyond a later one."""
    call = _Call(case, options, compile)
    reset()
    gc.collect()
    first = call.seconds()
    later = min(call.seconds() for _ in range(3))
    return max(first - later, 1e-9)


def ours(fn: Any, backend: Any = _backend) -> Any:
    import ferrodyn

    return ferrodyn.compile(fn, backend=backend)


def theirs(fn: Any, backend: Any = _backend) -> Any:
    import torch

    return torch.compile(fn, backend=backend, dynamic=False)


def captures(case: Any, options: Any, rounds: int = 3) -> dict[str, float]:
    """Return the median seconds that a warm capture takes: `ours`, `theirs`, and their ratio."""
    import ferrodyn
    import torch._dynamo

    _first(case, options, ours, ferrodyn.reset)
    if not options.known:
        _first(case, options, theirs, torch._dynamo.reset)
    found: dict[str, list[float]] = {"ours": [], "theirs": []}
    for _ in range(rounds):
        found["ours"].append(_first(case, options, ours, ferrodyn.reset))
        found["theirs"].append(_first(case, options, theirs, torch._dynamo.reset))
        found["ours"].append(_first(case, options, ours, ferrodyn.reset))
    medians = {name: statistics.median(seconds) for name, seconds in found.items()}
    return {**medians, "ratio": medians["theirs"] / medians["ours"]}


def calls(case: Any, options: Any, budget: float = 1.5) -> dict[str, float]:
    """Return the median seconds of a call: `eager`, `ours`, `theirs`; both below one backend."""
    import ferrodyn
    import torch._dynamo

    ferrodyn.reset()
    torch._dynamo.reset()
    backend = options.backend or _backend
    made = {
        "eager": _Call(case, options, lambda fn: fn),
        "ours": _Call(case, options, lambda fn: ours(fn, backend)),
        "theirs": _Call(case, options, lambda fn: theirs(fn, backend)),
    }
    once = 0.0
    for call in made.values():
        call.seconds(2)
        once = max(once, call.seconds(2) / 2)
    rounds = 15
    count = max(1, int(budget / (rounds * len(made) * max(once, 1e-6))))
    rounds = max(5, min(rounds, int(budget / (count * len(made) * max(once, 1e-6)))))
    seconds: dict[str, list[float]] = {name: [] for name in made}
    for _ in range(rounds):
        for name, call in made.items():
            seconds[name].append(call.seconds(count) / count)
    return {name: statistics.median(values) for name, values in seconds.items()}


def measured(
    measures: dict[str, Callable[[Any, Any], dict[str, Any]]], case: Any, options: Any
) -> dict[str, Any]:
    """Return what each of several measurements of a model gives, or why it gives nothing."""
    import torch

    found: dict[str, Any] = {}
    for key, measure in measures.items():
        try:
            found[key] = measure(case, options)
        except Exception as error:
            found[key] = {"error": f"{type(error).__name__}: {str(error)[:300]}"}
        torch.set_grad_enabled(True)
    return found
