"""Numbers that are read in a generator, in a handler and beside others, and needed in a call."""

import torch

BREAKS = ["Value that is made when the compiled code runs is needed"]
SNAPSHOT = False


def counts(x, n):
    return x.new_zeros(n + 1) + n


def read(tensors):
    for t in tensors:
        yield int(t.max()) + 1


def caught(x):
    try:
        raise ValueError(str(x.dim()))
    except ValueError as e:
        n = int(x.max()) + 2
        return counts(x, n).sum() * len(e.args)


class Counter:
    def __init__(self, n):
        self.n = n

    def __call__(self, x):
        return counts(x, self.n) if self.n > 3 else x


def fn(x, log):
    total = x.sin()
    first, second = read([x, x + 2])
    log.append("read")
    total = total + counts(x, second).sum() * first
    counter = Counter(int(x.sum()))
    log.append(counter.n)
    total = total * counter(x).sum()
    scale = x.cos().sum().item()
    return total * caught(x) + scale, log, f"{first} {second}"


def calls():
    return [(torch.arange(3) + j, []) for j in (2, 5, 7)]
