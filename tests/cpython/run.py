"""CPython's own tests with every test function compiled, compared with the same tests run plainly.

``.ferrodyn/py3.14/bin/python tests/cpython/run.py [-j 2] [test_generators ...]`` runs the modules
that are named, or those of ``MODULES``. One process runs a module plainly and another one compiled:
a test function, and what runs a doctest, is replaced by ``ferrodyn.compile`` of it, so that the
frame hook is active while it runs. What passes plainly and does not compiled fails the command,
unless ``exclusions.py`` gives a reason.
"""

from __future__ import annotations

import argparse
import collections
import fnmatch
import importlib.util
import json
import logging
import os
import pathlib
import signal
import sys
import tempfile
import time
import unittest
from types import FunctionType

from exclusions import EXCLUDED, MODULES, NOT_RUN

#: What a test can come to, the worst last.
OUTCOMES = ("skipped", "passed", "failed")


class Recorder(unittest.TestResult):
    """Writes what each test came to as soon as it is known: a crash loses nothing."""

    def __init__(self, out: pathlib.Path) -> None:
        super().__init__()
        self.out = out.open("w")

    def record(self, test: unittest.TestCase | None, outcome: str, why: str = "") -> None:
        print(json.dumps([test.id() if test else "", outcome, why]), file=self.out, flush=True)

    def startTest(self, test):
        super().startTest(test)
        self.record(test, "started")

    def addSuccess(self, test):
        self.record(test, "passed")

    def addFailure(self, test, err):
        self.record(test, "failed", self._exc_info_to_string(err, test))

    addError = addFailure

    def addExpectedFailure(self, test, err):
        self.record(test, "passed")

    def addUnexpectedSuccess(self, test):
        self.record(test, "failed", "passes unexpectedly")

    def addSkip(self, test, reason):
        self.record(test, "skipped")

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.record(test, "failed", f"{subtest}\n{self._exc_info_to_string(err, test)}")


def tests_of(suite: unittest.TestSuite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from tests_of(item)
        else:
            yield item


def compile_tests(suite: unittest.TestSuite) -> None:
    """Put compiled functions in place of the test functions of ``suite``."""
    import ferrodyn

    # Tests of logging listen to every logger: what is compiled is not theirs to hear.
    logging.getLogger("ferrodyn").setLevel(logging.WARNING)
    for test in tests_of(suite):
        for name in ("runTest", getattr(test, "_testMethodName", "runTest")):
            owner = next((c for c in type(test).__mro__ if name in vars(c)), None)
            # A class of unittest gives no test function itself; one of doctest runs the examples.
            if owner is None or owner.__module__.startswith("unittest"):
                continue
            function = vars(owner)[name]
            if isinstance(function, FunctionType):
                setattr(owner, name, ferrodyn.compile(function, backend="eager"))


def run_module(module: str, compiled: bool, out: pathlib.Path, only: str | None) -> None:
    """Run the tests of ``module`` in this process."""
    from test import support

    support.use_resources = ["cpu", "subprocess"]
    support.verbose = 0
    os.chdir(tempfile.mkdtemp(dir=out.parent))
    loader = unittest.defaultTestLoader
    if only:
        loader.testNamePatterns = [only]
    suite = loader.loadTestsFromName(f"test.{module}")
    if compiled:
        compile_tests(suite)
    result = Recorder(out)
    if loader.errors:
        result.record(None, "failed", loader.errors[0])
    suite(result)
    result.record(None, "passed")


def in_process(module: str, compiled: bool, folder: pathlib.Path, only: str | None) -> int:
    """Start a process that runs ``module``; its number."""
    name = folder / f"{module}.{'compiled' if compiled else 'plain'}"
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        text = os.open(f"{name}.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(text, 1)
        os.dup2(text, 2)
        run_module(module, compiled, name.with_name(name.name + ".json"), only)
        status = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


def read(path: pathlib.Path) -> tuple[dict[str, tuple[str, str]], str | None]:
    """What each test came to, and the test at which the process ended early."""
    outcomes: dict[str, tuple[str, str]] = {}
    last = "the first test"
    if not path.exists():
        return outcomes, last
    for line in path.read_text().splitlines():
        test, outcome, why = json.loads(line)
        if outcome == "started":
            last = test
            continue
        if not test and outcome == "passed":
            return outcomes, None
        before = outcomes.get(test, ("skipped", ""))
        outcomes[test] = max(before, (outcome, why), key=lambda o: OUTCOMES.index(o[0]))
    return outcomes, last


def reason_for(test: str) -> str | None:
    short = test.removeprefix("test.")
    return next((why for pattern, why in EXCLUDED.items() if fnmatch.fnmatch(short, pattern)), None)


def compare(module: str, folder: pathlib.Path, verbose: bool) -> collections.Counter[str]:
    """Print what differs between the two runs of ``module``; how many tests came to what."""
    plain, plain_end = read(folder / f"{module}.plain.json")
    compiled, compiled_end = read(folder / f"{module}.compiled.json")
    counts: collections.Counter[str] = collections.Counter()
    if plain_end is not None:
        print(f"{module}: ends early plainly, at {plain_end}")
        counts["ends early plainly"] += 1
        return counts
    lines = []
    if compiled_end is not None:
        counts["differ"] += 1
        lines.append(f"  the process ended early, at {compiled_end}")
    for test, (outcome, _) in plain.items():
        other, why = compiled.get(test, ("not run", ""))
        if outcome == other:
            counts[outcome] += 1
        elif other == "not run" and compiled_end is not None:
            counts["not run"] += 1
        elif (reason := reason_for(test)) is not None:
            counts["excluded"] += 1
            if verbose:
                lines.append(f"  {test}: {outcome} plainly, {other} compiled: {reason}")
        else:
            counts["differ"] += 1
            why = why.strip()
            lines.append(f"  {test}: {outcome} plainly, {other} compiled")
            lines.extend(f"      {line}" for line in why.splitlines()[-6:])
    print(f"{module}: {', '.join(f'{n} {what}' for what, n in sorted(counts.items()))}")
    for line in lines:
        print(line[:240])
    sys.stdout.flush()
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", help="such as test_generators")
    parser.add_argument("-j", "--jobs", type=int, default=1)
    parser.add_argument("-k", dest="only", metavar="PATTERN", help="only tests whose name matches")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for a module")
    parser.add_argument("--logs", type=pathlib.Path, help="folder that keeps what was printed")
    parser.add_argument("-v", "--verbose", action="store_true", help="print what is excluded too")
    options = parser.parse_args()
    modules = options.modules or [
        m for m in MODULES if m not in NOT_RUN and importlib.util.find_spec(f"test.{m}")
    ]

    # Each process has the same modules loaded, whether or not it compiles.
    import ferrodyn  # noqa: F401

    scratch = None
    folder = options.logs
    if folder is None:
        scratch = tempfile.TemporaryDirectory()
        folder = pathlib.Path(scratch.name)
    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()

    waiting = [(module, compiled) for module in modules for compiled in (False, True)]
    waiting.reverse()
    running: dict[int, tuple[str, float]] = {}
    unfinished = collections.Counter(dict.fromkeys(modules, 2))
    total: collections.Counter[str] = collections.Counter()
    while waiting or running:
        while waiting and len(running) < options.jobs:
            module, compiled = waiting.pop()
            sys.stdout.flush()
            child = in_process(module, compiled, folder, options.only)
            running[child] = (module, time.monotonic() + options.timeout)
        for child, (module, deadline) in list(running.items()):
            if time.monotonic() > deadline:
                os.killpg(child, signal.SIGKILL)
            ended, _ = os.waitpid(child, os.WNOHANG)
            if ended:
                del running[child]
                unfinished[module] -= 1
                if not unfinished[module]:
                    total += compare(module, folder, options.verbose)
        time.sleep(0.05)
    print(", ".join(f"{n} {what}" for what, n in sorted(total.items())))
    return 1 if total["differ"] or not total["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
