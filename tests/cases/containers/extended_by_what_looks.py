"""A generator that looks at the list (set, deque) that it extends sees each item at once."""

from collections import deque

import torch

GRAPHS = 1


def fn(x):
    items = [x, x + 1]
    items.extend(items[-1] * 2 for _ in range(3))
    more = [1]
    more += (more[-1] + 1 for _ in range(3))
    more.extend(map(lambda n: n + len(more), [10, 20]))
    numbers = {1}
    numbers.update(len(numbers) + i for i in range(3))
    last = deque([1], maxlen=3)
    last.extend(last[-1] * 2 for _ in range(4))
    try:
        more.extend(10 // (2 - i) for i in range(5))
    except ZeroDivisionError:
        more.append("stopped")
    return items, more, sorted(numbers), last


def inputs():
    return (torch.ones(2),)
