"""Forks a process for each program that it is sent; answers with its number and exit status.

Each program is a line of JSON. Its process is one that an interpreter would have started for it,
but that the modules are imported which this one's arguments name: `__main__`, `sys.argv`,
`sys.path`, the environment, the folder, standard output and error, and its end are the program's.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import sys
import types
import warnings


def program(request: dict) -> None:
    """Turn this process into the program's."""
    os.setpgid(0, 0)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for file, path in enumerate(request["files"], 1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_APPEND), file)
    first, *args = request["args"]
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = ["", *(path for path in paths if path)]
    if first == "-m":
        name, *sys.argv[1:] = args
        runpy.run_module(name, run_name="__main__", alter_sys=True)
        return
    main = types.ModuleType("__main__")
    main.__builtins__ = __builtins__
    if first == "-c":
        text, name = args.pop(0), "<string>"
    else:
        name = main.__file__ = os.path.abspath(first)
        with open(name) as file:
            text = file.read()
        sys.path[0] = os.path.dirname(name)
    sys.argv = [first, *args]
    sys.modules["__main__"] = main
    exec(compile(text, name, "exec", dont_inherit=True), vars(main))


def serve() -> None:
    """Fork for each line, until there is none. A child returns when its program has ended."""
    # What answers goes where the programs of this process cannot write.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    requests = os.fdopen(os.dup(0))
    for line in iter(requests.readline, ""):
        with warnings.catch_warnings():
            # Python warns of threads, which the child lacks. Those are NumPy's, which expects it.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if not pid:
            answers.close()
            requests.close()
            program(json.loads(line))
            return
        print(pid, file=answers)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), file=answers)


for module in sys.argv[1:]:
    importlib.import_module(module)

# The pages of what is there stay shared: no collection goes through it.
gc.freeze()
serve()
