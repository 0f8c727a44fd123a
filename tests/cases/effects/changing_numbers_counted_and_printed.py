"""A number that is counted on, printed and returned is no constant from the first call on."""

import torch

SNAPSHOT = False

GRAPHS = 1
REFERENCE_GRAPHS = None


class Meter:
    def __init__(self):
        self.count = 0
        self.total = 0.0


def fn(x, meter, i, loss):
    meter.count += 1
    meter.total += loss
    print(f"step {meter.count}: {meter.total / meter.count:.3f}", i + 1, loss * 2, (i // 3) * 2)
    minutes, seconds = divmod(i * 7, 60)
    return x * 2, i + 1, f"{minutes}:{seconds:02d}", "%d of %d" % (i, i * 2)


def calls():
    x, meter = torch.ones(2), Meter()
    return [(x, meter, i, 0.25 * i) for i in range(1, 11)]
