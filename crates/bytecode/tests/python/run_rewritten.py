"""Runs CPython's own tests while every module that they import is rewritten.

Usage: run_rewritten.py TOOL MODE TEST...

TOOL MODE is started once and gets the code of each module that is imported from now on, tests
included. A test that fails is run again in a fresh interpreter that rewrites nothing; it counts
where it passes there. Prints a line of counts; exits with 1 where a test counts.
"""

import importlib.machinery
import io
import os
import subprocess
import sys
import types

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import wire  # noqa: E402


class Rewriter:
    def __init__(self, command):
        self.tool = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.count = 0

    def __call__(self, code):
        consts = tuple(
            self(const) if isinstance(const, types.CodeType) else const for const in code.co_consts
        )
        self.tool.stdin.write(wire.encode(code, f"{code.co_filename}:{code.co_qualname}"))
        self.tool.stdin.flush()
        changed = wire.read_answer(self.tool.stdout)
        self.count += 1
        return code.replace(co_consts=consts, **changed)


def install(rewrite):
    def get_code(self, fullname):
        return rewrite(self.source_to_code(self.get_data(self.path), self.path))

    importlib.machinery.SourceFileLoader.get_code = get_code
    # What was imported to get here is imported again, rewritten, except what is frozen.
    keep = {"importlib", "types", "__main__", "wire"}
    gone = {
        name
        for name, module in sys.modules.items()
        if isinstance(getattr(module, "__loader__", None), importlib.machinery.SourceFileLoader)
        and name.partition(".")[0] not in keep
    }
    for name in list(sys.modules):
        if name in gone or name.rpartition(".")[0] in gone:
            del sys.modules[name]


def run(tests):
    """The ids of the tests that fail, and how many ran."""
    import unittest

    loader = unittest.defaultTestLoader
    suite = unittest.TestSuite()
    for name in tests:
        suite.addTests(loader.loadTestsFromName(name))
    result = unittest.TextTestRunner(stream=io.StringIO(), verbosity=0).run(suite)
    bad = result.failures + result.errors
    return {test.id(): text for test, text in bad}, result.testsRun


def baseline_fails(test):
    code = subprocess.run(
        [sys.executable, "-I", "-m", "unittest", test],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ).returncode
    return code != 0


def main():
    tool, mode, *tests = sys.argv[1:]
    rewrite = Rewriter([tool, mode])
    install(rewrite)
    failed, ran = run(tests)
    ours = {}
    for test, text in failed.items():
        # A subtest's id ends in its parameters.
        name = test.split(" ")[0]
        if not baseline_fails(name):
            ours[test] = text
    version = sys.version.split()[0]
    print(
        f"CPython {version}, {mode}: {rewrite.count} code objects rewritten, {ran} tests run, "
        f"{len(failed) - len(ours)} fail anyway, {len(ours)} fail because of the rewriting"
    )
    for test, text in ours.items():
        print(f"--- {test}\n{text}")
    sys.stdout.flush()
    os._exit(1 if ours or ran == 0 or rewrite.count < 1000 else 0)


main()
