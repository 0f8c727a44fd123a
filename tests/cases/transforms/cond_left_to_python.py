"""Functions that `torch.cond` refuses, that have effects, raise, draw, or give other shapes."""

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 0
BREAKS = [
    "torch.cond of a function with side effects",
    "torch.cond: Observed exception",
    "Operation that can't be described without running it: torch.cond",
]
SNAPSHOT = False
ALONE = True


def caught(f):
    try:
        return f()
    except Exception as e:
        return type(e).__name__


def fn(x, flag, seen):
    y = x * 2

    def notes(a):
        seen.append(1)
        return a + 1

    def fails(a):
        raise ValueError("no")

    def writes(a):
        a.add_(1)
        return a.sin()

    def draws(a):
        return torch.nn.functional.dropout(a)

    def cond(f, g, *operands):
        return caught(lambda: torch.cond(flag, f, g, operands))

    results = [
        cond(notes, torch.sin, y),
        cond(fails, torch.sin, y),
        cond(torch.sin, lambda a: a.double(), y),
        cond(torch.sin, lambda a: (a.sin(),), y),
        cond(lambda a: a, torch.sin, y),
        cond(lambda a: a.view(-1), lambda a: a.reshape(-1), y),
        cond(lambda a: (a + 1, 2), lambda a: (a - 1, 2.5), y),
        cond(lambda a: (a + 1,) * 2, lambda a: (a - 1,) * 2, y),
        cond(lambda a, b: a + b, lambda a, b: a - b, y, y[0]),
        cond(lambda a: a + 1, torch.sin, 3),
        caught(lambda: torch.cond(y, torch.sin, torch.cos, (y,))),
        caught(lambda: torch.cond("text", torch.sin, torch.cos, (y,))),
        cond(draws, torch.sin, y),
    ]
    with torch.no_grad():
        results.append(cond(writes, torch.cos, y))
    return results, y, len(seen)


def inputs():
    return torch.ones(2, 3), torch.tensor(True), []


def calls():
    return [inputs(), (torch.ones(2, 3), torch.tensor(False), [])]
