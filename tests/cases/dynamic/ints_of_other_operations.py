"""An int that changes is one of the graph for operations whose rules do not know it."""

import torch
import torch.nn.functional as F

GRAPHS = 2
REFERENCE_GRAPHS = 4
SNAPSHOT = False


def fn(x, n):
    places = torch.tensor([0, 3])
    y = x.index_fill(0, places, n) + x.scatter(0, places, n) + F.leaky_relu(-x, n)
    y = F.hardtanh(y, 0, n) + torch.baddbmm(
        x.view(1, 1, -1), y[:1].view(1, 1, 1), x.view(1, 1, -1), beta=n
    )
    rows = x.view(1, 1, -1)
    taps = torch.ones(1, 1, 3)
    around = F.conv1d(rows, taps, padding=n), F.conv1d(rows, taps, stride=n, dilation=n)
    every = x[::n], x[1::n] * 2, (x * 3)[n : 8 * n : n]
    y[..., ::n] = 0.5
    return y, around, every, torch.arange(40, dtype=torch.int64) << n


def calls():
    return [(torch.arange(40.0).sin(), n) for n in range(2, 6)]
