"""A context manager of the user's whose `__exit__` swallows what is raised behind a break."""

import torch

GRAPHS = 3
REFERENCE_GRAPHS = 0


@torch.compiler.disable
def say(*args, **options):
    print(*args, **options)


class Log:
    def __init__(self):
        self.lines = []

    def __enter__(self):
        self.lines.append("enter")
        return self

    def __exit__(self, kind, error, traceback):
        self.lines.append((kind.__name__, traceback is None) if kind else "exit")
        return kind is KeyError


def fn(x):
    log = Log()
    with log:
        x = x + 1
        say("in")
        x = x * 2
        raise KeyError("k")
    with log:
        x = x - 1
        torch.zeros(2).view(3) if x.sum() > 100 else None
        say("again")
    with log, log:
        say("twice")
        x = x * 3
    return x, log.lines


def inputs():
    return (torch.ones(2),)
