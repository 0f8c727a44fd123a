"""An exception that outlives its handler keeps its traceback and its context."""

import torch

GRAPHS = 1


def fn(x):
    errors = []
    known = IndexError("known")
    try:
        try:
            raise known
        except IndexError:
            raise KeyError("second")
        finally:
            x = x + 1
    except LookupError as error:
        errors.append(error)
    try:
        raise known
    except IndexError as error:
        errors.append(error)
    lines = [error.__traceback__.tb_lineno for error in errors]
    return x, [str(e) for e in errors], errors[0].__context__ is known, lines


def inputs():
    return (torch.ones(2),)
