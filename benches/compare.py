"""Ferrodyn beside torch.compile, in one process: `python benches/compare.py [filter]`.

Both get the same no-op backend. What is measured is CPU time of the thread, in interleaved slices:
every figure is a median, with its quartiles in brackets. `--chart FILE` (SVG or PNG) draws the
costs of a call, `--json FILE` writes all figures.

What a call costs beside its graph is measured with a backend whose callable computes nothing: it
returns what the graph gave once. The cost of calling that directly is taken off.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ferrodyn
import torch
from measure import duration
from models import CASES
from programs import plus_one, stack, toy_example
from rich.console import Console
from rich.table import Table

Call = Callable[[], Any]

#: CPU seconds of this thread.
_clock = time.thread_time


def backend(graph: torch.fx.GraphModule, inputs: list[Any]) -> Any:
    """Run the graph as it is: what is measured is the capture."""
    return graph.forward


class Empty:
    """A backend whose callables return what the graph gave the first time."""

    def __init__(self) -> None:
        #: The callables, with the arguments of their first call.
        self.called: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []

    def __call__(self, graph: torch.fx.GraphModule, inputs: list[Any]) -> Any:
        forward, held = graph.forward, []

        def call(*args: Any) -> Any:
            if held:
                return held[0]
            held.append(forward(*args))
            self.called.append((call, args))
            return held[0]

        return call

    def alone(self) -> Call:
        """Return a function that calls what was called, and does nothing else."""
        called = self.called
        if len(called) == 1:
            [(call, args)] = called
            return lambda: call(*args)

        def every() -> None:
            for call, args in called:
                call(*args)

        return every


class Figure:
    """Median and quartiles."""

    def __init__(self, values: list[float]) -> None:
        self.low, self.middle, self.high = statistics.quantiles(values, n=4)

    def text(self, text: Callable[[float], str]) -> str:
        """Return the figure as text."""
        return f"{text(self.middle)} [{text(self.low)} .. {text(self.high)}]"


def times(value: float) -> str:
    """Return a ratio as text."""
    return f"{value:.3g}x"


def _calls_in(call: Call, seconds: float) -> int:
    """Return how often `call` can be made in `seconds`, at least once.

    It doubles until a run is long enough. The first calls may compile again or note what they
    watch: counted by those, a slice is too short, and measures what the other calls have left in
    the processor's caches.
    """
    count = 1
    while True:
        start = _clock()
        for _ in range(count):
            call()
        took = _clock() - start
        if took >= seconds and count >= 8:
            return max(1, int(count * seconds / took))
        count *= 2


def slices(
    calls: dict[str, Call], rounds: int = 40, seconds: float = 0.004
) -> dict[str, list[float]]:
    """Return the seconds of one call in each slice; the calls take turns."""
    counts = {name: _calls_in(call, seconds) for name, call in calls.items()}
    measured: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            repeat = range(counts[name])
            start = _clock()
            for _ in repeat:
                call()
            measured[name].append((_clock() - start) / counts[name])
    return measured


def first(compile: Callable[[], Call], reset: Call) -> float:
    """Return the seconds of a first call. What others left behind is not collected inside it."""
    reset()
    call = compile()
    gc.collect()
    gc.freeze()
    start = _clock()
    call()
    return _clock() - start


class Program:
    """A program, its arguments, and what was measured of it."""

    def __init__(self, name: str, fn: Any, args: tuple[Any, ...], **kwargs: Any) -> None:
        self.name, self.fn, self.args, self.kwargs = name, fn, args, kwargs
        self.figures: dict[str, Figure] = {}

    def call(self, fn: Any) -> Call:
        """Return the call of `fn` with the program's arguments."""
        args, kwargs = self.args, self.kwargs
        return (lambda: fn(*args, **kwargs)) if kwargs else (lambda: fn(*args))

    def ours(self, backend: Any) -> Call:
        """Return a call of the program, compiled by ferrodyn."""
        return self.call(ferrodyn.compile(self.fn, backend=backend))

    def theirs(self, backend: Any) -> Call:
        """Return a call of the program, compiled by torch."""
        return self.call(torch.compile(self.fn, backend=backend, dynamic=False))

    def measure(self) -> None:
        """Measure everything."""
        self._firsts(3 if isinstance(self.fn, torch.nn.Module) else 12)
        ferrodyn.reset()
        torch._dynamo.reset()
        calls = slices(
            {
                "eager": self.call(self.fn),
                "ours": self.ours(backend),
                "theirs": self.theirs(backend),
            }
        )
        for name in "ours", "theirs":
            ratios = [a / b for a, b in zip(calls[name], calls["eager"], strict=True)]
            self.figures[f"{name} / eager"] = Figure(ratios)
        if self.fn is not toy_example:  # It looks at what the graph computes.
            self._costs()

    def _firsts(self, rounds: int) -> None:
        ours, ratios = [], []
        for turn in range(rounds + 1):
            mine = first(lambda: self.ours(backend), ferrodyn.reset)
            torchs = first(lambda: self.theirs(backend), torch._dynamo.reset)
            if turn:
                ours.append(mine)
                ratios.append(torchs / mine)
        gc.unfreeze()
        self.figures["first"] = Figure(ours)
        self.figures["first ratio"] = Figure(ratios)

    def _costs(self) -> None:
        ferrodyn.reset()
        torch._dynamo.reset()
        mine, torchs = Empty(), Empty()
        calls = {"ours": self.ours(mine), "theirs": self.theirs(torchs)}
        for call in calls.values():
            call()
        calls |= {"our graph": mine.alone(), "their graph": torchs.alone()}
        spent = slices(calls)
        ours = [a - b for a, b in zip(spent["ours"], spent["our graph"], strict=True)]
        theirs = [a - b for a, b in zip(spent["theirs"], spent["their graph"], strict=True)]
        self.figures["cost"] = Figure(ours)
        self.figures["torch's cost"] = Figure(theirs)
        ratios = [b / max(a, 1e-9) for a, b in zip(ours, theirs, strict=True)]
        self.figures["cost ratio"] = Figure(ratios)

    def row(self) -> list[str]:
        """Return the row of the table."""
        texts = {"first": duration, "cost": duration, "torch's cost": duration}
        columns = [
            "first",
            "first ratio",
            "ours / eager",
            "theirs / eager",
            "cost",
            "torch's cost",
            "cost ratio",
        ]
        figures = [(self.figures.get(name), texts.get(name, times)) for name in columns]
        return [self.name, *(figure.text(text) if figure else "" for figure, text in figures)]


def of_model(name: str) -> Callable[[], Program]:
    """Return the maker of one of the models of `models/models.py`, at batch 1."""

    def make() -> Program:
        case = CASES[name]
        args, kwargs = case.inputs(1)
        return Program(name, case.build(), args, **kwargs)

    return make


def programs() -> dict[str, Callable[[], Program]]:
    """Return all programs by name; each is made when it is measured."""
    tokens = torch.randn(1, 8, 64)

    def plain(name: str, make: Callable[[], Any], *args: Any) -> Callable[[], Program]:
        return lambda: Program(name, make(), args)

    x, b = torch.randn(10), torch.rand(10)
    made = {
        "plus_one": plain("plus_one", lambda: plus_one, x),
        "toy_example": plain("toy_example", lambda: toy_example, x, b),
    }
    for blocks in 4, 24, 96:
        name = f"stack_{blocks}"
        made[name] = plain(name, lambda blocks=blocks: stack(blocks), tokens)
    for name in "tv_regnet_y_400mf", "tv_mobilenet_v3_small", "hf_llama":
        made[name] = of_model(name)
    return made


def chart(measured: list[Program], file: Path) -> None:
    """Draw what a call costs beside its graph, for both."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    shown = [program for program in measured if "cost" in program.figures]
    fig, axes = pyplot.subplots(figsize=(9, 1.5 + 0.6 * len(shown)), layout="constrained")
    for offset, name, label in (-0.2, "cost", "ferrodyn"), (0.2, "torch's cost", "torch.compile"):
        figures = [program.figures[name] for program in shown]
        middles = [max(figure.middle, 1e-9) * 1e6 for figure in figures]
        spread = [
            [max(m - figure.low * 1e6, 0) for m, figure in zip(middles, figures, strict=True)],
            [max(figure.high * 1e6 - m, 0) for m, figure in zip(middles, figures, strict=True)],
        ]
        places = [place + offset for place in range(len(shown))]
        bars = axes.barh(places, middles, height=0.38, xerr=spread, label=label)
        axes.bar_label(bars, [f" {middle:.3g} us" for middle in middles], padding=3)
    axes.set_yticks(range(len(shown)), [program.name for program in shown])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.margins(x=0.25)
    axes.set_xlabel("microseconds that a call costs beside its graph (median, quartiles)")
    axes.legend()
    fig.savefig(file)
    pyplot.close(fig)


def main() -> None:
    """Measure, print, draw."""
    import torch._dynamo  # Its import is no part of a first call.

    parser = argparse.ArgumentParser(description=__doc__, add_help=True)
    parser.add_argument("wanted", nargs="?", default="", help="only programs with this in the name")
    parser.add_argument("--chart", type=Path, help="where to draw the costs, .svg or .png")
    parser.add_argument("--device", default="cpu", help="where programs and arguments are: cuda")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args()
    table = Table(
        "program",
        "first call",
        "torch's / ours",
        "call / eager",
        "torch's call / eager",
        "call beside its graph",
        "torch's",
        "torch's / ours",
        title=f"Python {sys.version.split()[0]}, torch {torch.__version__}, same no-op backend",
    )
    torch.set_num_threads(1)  # Idle workers of a busy machine would be measured instead.
    measured = []
    with torch.no_grad():
        with torch.device(options.device):
            made = programs()
        for name, make in made.items():
            if options.wanted in name:
                with torch.device(options.device):
                    program = make()
                program.measure()
                measured.append(program)
                table.add_row(*program.row())
    Console(width=None if sys.stdout.isatty() else 240).print(table)
    if options.json:
        figures = {
            program.name: {name: vars(figure) for name, figure in program.figures.items()}
            for program in measured
        }
        options.json.write_text(json.dumps(figures, indent=1) + "\n")
    if options.chart:
        chart(measured, options.chart)
        print(f"chart: {options.chart}")


if __name__ == "__main__":
    main()
