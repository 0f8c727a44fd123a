"""Where the program has the dictionary of a function, attributes are set by plain Python."""

import torch

GRAPHS = 5
REFERENCE_GRAPHS = 0
BREAKS = [
    "Unsupported: setting attribute calls of a function",
    "Unsupported: an attribute of a function whose `__dict__` has changed",
    "Unsupported: setting attribute __name__ of a function",
]
SNAPSHOT = False


def helper(x):
    return x


helper.calls = 0


def fn(x):
    held = helper.__dict__
    helper.calls += 1
    x = x + held["calls"]
    held["calls"] += 1
    x = x * helper.calls
    helper.calls += 1
    helper.__name__ = "renamed"
    helper.gone = 1
    del helper.gone
    try:
        len.calls = 1
    except AttributeError:
        x = x + 1
    return helper(x), dict(vars(helper)), helper.__name__, "gone" in held


def calls():
    return [(torch.ones(2),)] * 3
