"""`x.data = y` beside writes and views of what has that memory."""

import torch

SNAPSHOT = False
GRAPHS = 1
REFERENCE_WRONG = "what was read from `x.data` is the new data"


def written_behind(x, y):
    x.data = y + 1
    x.add_(1)
    return x * 2


def written_in_front(x, y):
    x.mul_(2)
    x.data = y + 1
    return x + y


def viewed(x, y):
    first = x[0]
    x.data = y + 1
    return first, x * 2


def data_kept(x, y):
    data = x.data
    x.data = y * 2
    data[0] = 7
    return data, x


def of_an_input_that_is_written(x, y):
    x.data = y
    y.add_(1)
    return x * y


def taken_over(x, y):
    x.set_(y)
    return x * 2


def of_a_view(x, y):
    flat = x.flatten()
    flat.data = y + 1
    return flat, x


def fn(*pairs):
    functions = (
        written_behind,
        written_in_front,
        viewed,
        data_kept,
        of_an_input_that_is_written,
        taken_over,
        of_a_view,
    )
    return [f(x, y) for f, (x, y) in zip(functions, pairs)]


def calls():
    return [
        [(torch.ones(2, 3) * n, torch.arange(6.0).view(2, 3)) for _ in range(7)] for n in (1, 2)
    ]
