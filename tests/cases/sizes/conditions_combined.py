"""Conditions over numbers that the graph reads, joined, negated, checked, given out."""

import torch
from torch.fx.experimental.symbolic_shapes import sym_and, sym_or

OPTIONS = {"capture_scalar_outputs": True}
GRAPHS = 1
REFERENCE_WRONG = "what fails is an error of torch.compile's own"
SNAPSHOT = False


def fn(t, u, y):
    n, m = t.item(), u.item()
    torch._check((n == 4) | (m > 1))
    torch._check((n > 0) & (m > -5), lambda: "both")
    torch._check(sym_or(n == 4, m == 4, n + m > 2))
    torch._check(sym_and(n >= 1, m != 9))
    torch._check(not (n == 7))
    return y * n + m, n > m, not (n > m), (n > 1) & (m > 1), torch.sym_not((n > 1) | (m > 1))


def calls():
    pairs = [(4, 1), (3, 2), (5, 1), (7, 2), (3, 9)]
    return [(torch.tensor(n), torch.tensor(m), torch.ones(3)) for n, m in pairs]
