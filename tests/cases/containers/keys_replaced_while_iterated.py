"""A dict or set whose keys are replaced while it is iterated over: CPython raises, meets the new
keys or not, as its hash table has it. A deque or an OrderedDict raises."""

from collections import OrderedDict, deque

import torch

GRAPHS = 0


def walk(container, change, view=iter):
    found = []
    it = view(container)
    for _ in range(12):
        try:
            item = next(it)
        except (StopIteration, RuntimeError) as e:
            found.append(str(e))
            if isinstance(e, StopIteration):
                break
            continue
        found.append(item)
        change(container, item)
    return found


def add_again(d, k):
    if k in d:
        d[k] = d.pop(k)


def other(d, k):
    d.pop(k, None)
    d[k + 100] = 1


def last_again(d, k):
    d.move_to_end(k)


def turn(d, k):
    d.append(d.popleft())


def rotate(d, k):
    d.rotate(1)


def set_item(d, k):
    d[-1] = k + 10


def shift(s, k):
    s.remove(k)
    s.add(k + 8)


def fn(x, n):
    out = []
    for change in (add_again, other):
        for view in (iter, reversed, lambda d: iter(d.items())):
            out.append(walk(dict.fromkeys(range(n)), change, view))
            out.append(walk(OrderedDict.fromkeys(range(n)), change, view))
    out.append(walk(OrderedDict.fromkeys(range(n)), last_again))
    for change in (turn, rotate, set_item):
        for view in (iter, reversed):
            out.append(walk(deque(range(n)), change, view))
    out.append(walk(set(range(n)), shift))
    return x + 1, out


def calls():
    return [(torch.ones(2), n) for n in (1, 2, 3, 5, 6)]
