"""Fields that C fills from what an exception is made of, in one graph."""

import torch

GRAPHS = 1
SNAPSHOT = False


class Missing(FileNotFoundError):
    pass


def raised(make):
    try:
        raise make()
    except BaseException as error:
        return error


def encoded():
    return "\u00e9".encode("ascii")


def fn(x):
    y = x.sin()
    found = []
    for make in (OSError, lambda: FileNotFoundError("a"), lambda: Missing("b")):
        error = raised(make)
        found.append((error.errno, error.strerror, error.filename, error.args, str(error)))
    for make in (SyntaxError, lambda: SyntaxError("no"), lambda: IndentationError("deep")):
        error = raised(make)
        found.append((error.msg, error.lineno, error.args))
    for make in (SystemExit, lambda: SystemExit(3), lambda: SystemExit(4, 5)):
        found.append((raised(make).code, raised(make).args))
    found.append(raised(lambda: UnicodeError("text", 2)).args)
    error = raised(encoded)
    found.append((error.start, error.end, error.encoding, error.reason))
    try:
        raise FileNotFoundError
    except OSError:
        y = y + 1
    return y, found


def inputs():
    return (torch.ones(2),)
