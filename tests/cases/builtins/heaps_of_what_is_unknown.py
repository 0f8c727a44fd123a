"""`heapq` on items that have no order of constants: plain Python compares them."""

import heapq

import torch

GRAPHS = 3
REFERENCE_GRAPHS = 2


class Item:
    def __init__(self, n):
        self.n = n

    def __lt__(self, other):
        return self.n < other.n


def attempt(f, *args):
    try:
        return f(*args)
    except (TypeError, RuntimeError) as e:
        return type(e).__name__


def fn(x):
    y = x + 1
    items = [Item(3), Item(1), Item(2)]
    heapq.heapify(items)
    tensors = [(1, y), (1, y * 2)]
    heapq.heapify(tensors)
    tied = attempt(heapq.heappush, [(1, x)], (1, y))
    mixed = attempt(heapq.heapify, [1, "a"])
    not_list = attempt(heapq.heapify, (2, 1))
    return y * 2, [item.n for item in items], tensors[0][1].sum() > 0, tied, mixed, not_list


def inputs():
    return (torch.ones(1),)
