"""What was handled when a caught exception was raised, in functions and behind others."""

import torch

SNAPSHOT = False
GRAPHS = 1


def contexts(error):
    names = []
    while error is not None:
        names.append((type(error).__name__, error.args))
        error = error.__context__
    return names


def helper(cause):
    try:
        raise cause
    finally:
        raise ConnectionError("finally")


def chained():
    try:
        try:
            raise TypeError(1)
        except Exception:
            helper(KeyError(2))
        finally:
            {}["missing"]
    except Exception as error:
        return contexts(error)


def first_again():
    try:
        raise AssertionError
    except AssertionError as a:
        first = a
        try:
            raise BytesWarning
        except BytesWarning as second:
            try:
                raise first
            except AssertionError as e:
                return contexts(e), second.__context__


def outside_of_handlers():
    try:
        raise OSError("late")
    except OSError as error:
        kept = error
    try:
        raise kept
    except OSError as error:
        return contexts(error), error.errno


def written():
    try:
        raise ValueError("handled")
    except ValueError:
        error = LookupError("written")
        error.__context__ = RuntimeError("gone")
        try:
            raise error
        except LookupError as e:
            return contexts(e)


def fn(x):
    return x + 1, chained(), first_again(), outside_of_handlers(), written()


def inputs():
    return (torch.ones(2),)
