"""Functions of operators read numbers; an item has the place of one; one read twice is one."""

import torch

OPTIONS = {"capture_scalar_outputs": True}
GRAPHS = 1
SNAPSHOT = False


def fn(t, y):
    n = t.item()
    torch._check(0 <= n)
    torch._check(n < 6)
    out = y.clone()
    out[n] = 7

    def body(i, total):
        return i + 1, total + y * i.item()

    places, total = torch.while_loop(lambda i, s: i < 3, body, (t * 0, y * 0))
    chosen = torch.cond(y.sum() > 3, lambda y, t: y + t.item(), lambda y, t: y - t.item(), (y, t))
    return out, places, total, chosen, t.item() + t.add_(1).item()


def calls():
    return [(torch.tensor(n), torch.arange(6.0) * k) for n, k in [(3, 1), (0, 0), (5, 2)]]
