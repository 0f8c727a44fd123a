"""`contextlib.ExitStack`: contexts, callbacks, an exception that one of them swallows."""

import contextlib

import torch

GRAPHS = 1


class Manager:
    def __init__(self, log, swallow=False):
        self.log = log
        self.swallow = swallow

    def __enter__(self):
        self.log.append("in")
        return self

    def __exit__(self, kind, value, traceback):
        self.log.append(kind.__name__ if kind else None)
        return self.swallow


def fn(x):
    log = []
    with contextlib.ExitStack() as stack:
        stack.enter_context(Manager(log))
        stack.enter_context(torch.no_grad())
        stack.callback(log.append, "callback")
        stack.push(lambda *args: log.append(len(args)))
        y = x * 2
    with contextlib.ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(contextlib.nullcontext())
        rest = stack.pop_all()
    rest.close()
    return y, log


def inputs():
    return (torch.ones(2, requires_grad=True),)
