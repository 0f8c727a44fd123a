"""A function without tensors gives no graph."""

GRAPHS = 0


def fn(a, b):
    return [a + b, a * b, {"k": a}]


def inputs():
    return 2, 3
