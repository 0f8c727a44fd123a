"""`except` takes classes of exceptions and tuples of them, by their bases alone."""

import torch

GRAPHS = 1


class Any(type):
    def __subclasscheck__(cls, other):
        return True


class Everything(Exception, metaclass=Any):
    pass


CLASSES = [5, "a", None, int, (ValueError, 3), (ValueError, (KeyError,)), [ValueError], ()]
CLASSES += [ValueError, (KeyError, ValueError), Everything]


def attempt(classes):
    try:
        try:
            raise ValueError(1)
        except classes:
            return "caught"
    except (TypeError, ValueError) as e:
        return type(e).__name__, str(e)


def fn(x):
    return x + 1, [attempt(classes) for classes in CLASSES]


def inputs():
    return (torch.ones(2),)
