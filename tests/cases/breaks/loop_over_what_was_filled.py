"""A loop over a container that the function changed before goes on behind a break inside of it."""

import collections

import torch

GRAPHS = 4
REFERENCE_GRAPHS = 1


def item(x):
    return (x[0] > 1).item()


def goes_over(items, x, log):
    for entry in items:
        log.append(item(x) if entry == 1 else entry)


def fn(x, filled, pairs, queue):
    log = []
    for i in range(3):
        filled.append(i)
        pairs[i] = i
        queue.append(i)
    goes_over(filled, x, log)
    goes_over(reversed(filled), x, log)
    for at, entry in enumerate(filled):
        log.append((at, item(x) if entry == 1 else entry))
    goes_over((entry for entry in filled), x, log)
    it = iter(filled)
    next(it)
    for pair in zip(it, it, strict=False):
        log.append((pair, item(x)))
    for key in pairs:
        pairs[key] = item(x) if key == 1 else -key
    for key, value in pairs.items():
        log.append((key, item(x) + value))
    for value in reversed(pairs.values()):
        log.append(item(x) * value)
    for entry in queue:
        log.append(item(x) if entry == 1 else entry)
    queue.rotate()
    for entry in reversed(queue):
        log.append(item(x) + entry)
    return log


def inputs():
    return torch.tensor([2, 3]), [], {}, collections.deque()
