"""The name that `except ... as` binds and deletes is a variable of a nested function too."""

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 0


def fn(x, stop):
    def text():
        return repr(e)

    seen = []
    try:
        raise ValueError(1)
    except Exception as e:
        seen.append(text())
    try:
        if stop:
            print("stop")
        missing
    except NameError as e:
        seen.append(text())
    try:
        text()
    except NameError as error:
        seen.append(str(error))
    return x + 1, seen


def calls():
    return [(torch.ones(2), stop) for stop in (False, True, False)]
