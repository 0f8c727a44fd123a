"""`except*` takes exception groups apart: raised here, in a called function, or not at all."""

import torch

GRAPHS = 5
REFERENCE_GRAPHS = 2


def fail(kind):
    if kind == "group":
        raise ExceptionGroup("g", [ValueError(1), TypeError(2), KeyError(3)])
    if kind == "plain":
        raise ValueError("plain")


def caught(x, kind):
    found = []
    try:
        x = x + 1
        fail(kind)
        x = x * 2
    except* ValueError as group:
        found.append(("values", [str(e) for e in group.exceptions]))
        x = x + 10
    except* (TypeError, KeyError) as group:
        found.append(("others", [str(e) for e in group.exceptions]))
    return x, found


def partly(x, kind):
    try:
        try:
            fail(kind)
        except* ValueError:
            x = x + 1
            raise LookupError("new")
    except BaseException as error:
        return x, type(error).__name__, str(error), repr(error)
    return x


def fn(x, kind):
    first = caught(x, kind)
    return first, partly(x, kind), caught(first[0], kind)


def calls():
    return [(torch.ones(2), kind) for kind in ("none", "group", "plain", "group", "none")]
