"""Exceptions that keep, check or choose by what they are given."""

import torch

GRAPHS = 0


class Own(ImportError):
    pass


def fn(x):
    makers = (
        lambda: ValueError(a=1),
        lambda: ImportError("a", name="b").name,
        lambda: Own("a", path="c").path,
        lambda: OSError(2, "x").errno,
        lambda: type(OSError(2, "x")).__name__,
        lambda: str(OSError(2, "x")),
        lambda: UnicodeDecodeError("a"),
        lambda: StopIteration(3).value,
        lambda: SystemExit(4).code,
        lambda: AttributeError("q").name,
    )
    found = []
    for make in makers:
        try:
            found.append(make())
        except TypeError as error:
            found.append(str(error))
    try:
        makers.missing
    except AttributeError as error:
        found.append((error.name, error.obj is makers))
    return x + 1, found


def inputs():
    return (torch.ones(2),)
