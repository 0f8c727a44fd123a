"""Writing the fields of an exception: what they refuse, what they imply, notes."""

import torch

GRAPHS = 0


def fn(x):
    found = []
    values = (
        ("__cause__", 1),
        ("__cause__", KeyError()),
        ("__context__", 2),
        ("__traceback__", 3),
        ("args", (1, 2)),
        ("args", [4]),
        ("__suppress_context__", True),
    )
    for name, value in values:
        error = ValueError()
        try:
            setattr(error, name, value)
            found.append((name, repr(getattr(error, name)), error.__suppress_context__))
        except TypeError as refused:
            found.append((name, str(refused)))
    for cause in (None, KeyError, KeyError("a"), 5):
        try:
            raise ValueError from cause
        except (ValueError, TypeError) as error:
            found.append((str(error), repr(error.__cause__), error.__suppress_context__))
    error = ValueError()
    error.add_note("a")
    error.add_note("b")
    try:
        error.add_note(3)
    except TypeError as refused:
        found.append((error.__notes__, str(refused)))
    return x + 1, found


def inputs():
    return (torch.ones(2),)
