"""What `inspect` reads of classes and functions: documentation, bases, names of arguments."""

import inspect

import torch

GRAPHS = 1
SNAPSHOT = False


class Thing:
    """The text
    of a thing."""

    def method(self, a, b=2, *rest, c, d=4, **more):
        """Return nothing."""


class Other(Thing):
    def method(self, a, b=2, *rest, c, d=4, **more):
        pass


def fn(x):
    spec = inspect.getfullargspec(Thing.method)
    return (
        x + len(spec.args),
        spec,
        inspect.getfullargspec(Other().method).args,
        inspect.getmro(Other),
        inspect.getdoc(Thing),
        inspect.getdoc(Thing.method),
        inspect.getdoc(Other.method),
        inspect.cleandoc("  a\n    b\n"),
    )


def inputs():
    return (torch.ones(2),)
