"""Division by zero, negative shifts and negative exponents raise, or give no int, as in Python."""

import torch

GRAPHS = 5
REFERENCE_GRAPHS = 7


def attempt(f):
    try:
        return f()
    except (ArithmeticError, ValueError) as e:
        return type(e).__name__, str(e)


def fn(x, n, m):
    return (
        x - 1,
        attempt(lambda: n // m),
        attempt(lambda: n % m),
        attempt(lambda: 3 << m),
        attempt(lambda: n >> m),
        attempt(lambda: n**m),
        attempt(lambda: n / m),
    )


def calls():
    x = torch.ones(2)
    return [(x, n, m) for n, m in [(7, 2), (8, 3), (9, 0), (5, -1), (-7, 4), (2, 70), (0, 1)]]
