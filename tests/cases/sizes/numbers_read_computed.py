"""Functions of numbers that the graph reads: quotients, roundings, roots, conditions as numbers."""

import math

import torch

OPTIONS = {"capture_scalar_outputs": True}
GRAPHS = 1
REFERENCE_WRONG = "what fails is an error of torch.compile's own"
SNAPSHOT = False


def fn(t, u, v, y):
    n, m, f = t.item(), u.item(), v.item()
    ints = [int(f), round(f), math.ceil(n / 3), math.floor(f) // 2, torch.sym_ite(n > m, 3, 2)]
    floats = [float(n), n / m, 7 / m, round(f, 1), abs(f), math.sqrt(n), f**2, 2.0**f, f**0.5]
    floats += [(n > 1) * 2.5, max(f, 2.0), math.sin(f)]
    conditions = [f > 2.0, not f > 2.0, n in (1, 2, 3), n not in (2, 5), bool(n), bool(u == 1)]
    scaled = [y * number for number in ints + floats] + [
        y - 0.5 + (n == 3),
        (n % 2 == 1) * (y + 0.5),
    ]
    return scaled, floats, conditions, f"{n} {f}", torch.ones(int(f)), torch.tensor(n).item()


def calls():
    numbers = [(3, 2, 2.6), (1, 1, 1.25), (2, 5, 3.75), (3, 0, 1.5), (-1, 2, 2.0), (4, 1, 1e200)]
    return [
        (torch.tensor(n), torch.tensor(m), torch.tensor(f, dtype=torch.float64), torch.ones(3))
        for n, m, f in numbers
    ]
