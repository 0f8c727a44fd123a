"""Writes every code object of the standard library (or of the files given) to standard output."""

import os
import sys
import sysconfig
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import wire  # noqa: E402


def sources(root):
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in ("site-packages", "__pycache__"))
        for file in sorted(files):
            # A packaged interpreter can have links that lead nowhere.
            if file.endswith(".py") and os.path.exists(os.path.join(folder, file)):
                yield os.path.join(folder, file)


def main(out):
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(10000)
    root = sysconfig.get_path("stdlib")
    for path in sys.argv[1:] or sources(root):
        try:
            with open(path, "rb") as file:
                code = compile(file.read(), path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError, UnicodeError, RecursionError):
            continue  # test data that is not meant to compile
        for nested in wire.walk(code):
            label = f"{os.path.relpath(path, root)}:{nested.co_qualname}"
            out.write(wire.encode(nested, label))


main(sys.stdout.buffer)
