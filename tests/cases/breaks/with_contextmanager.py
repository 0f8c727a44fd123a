"""Breaks inside `with` blocks whose context managers are generators or stacks."""

import contextlib

import torch

GRAPHS = 5
REFERENCE_GRAPHS = 0


@torch.compiler.disable
def say(*args):
    print(*args)


@contextlib.contextmanager
def scope(log, name):
    log.append(("enter", name))
    try:
        yield name * 2
    except ValueError as error:
        log.append(error.args)
    finally:
        log.append(("exit", name))


@contextlib.contextmanager
def frozen():
    with torch.no_grad():
        yield


def fn(x):
    log = []
    with scope(log, "a") as name:
        y = x + len(name)
        say("in a")
        y = y * 2
    with scope(log, "b"), frozen():
        z = y * x
        say(torch.is_grad_enabled())
        raise ValueError("b")
    say(torch.is_grad_enabled())
    with contextlib.ExitStack() as stack:
        stack.enter_context(scope(log, "c"))
        y = y + 1
        say("in c")
        y = y * z
    return y, log


def inputs():
    return (torch.ones(2, requires_grad=True),)
