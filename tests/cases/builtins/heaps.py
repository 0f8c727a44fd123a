"""`heapq` on lists of constants, and of tuples in which constants decide."""

import heapq

import torch

GRAPHS = 2
OUTSIDE = [5, 1, 4]


class Beam:
    def __init__(self, score, state):
        self.entry = (-score, state)


def attempt(f, *args):
    try:
        return f(*args)
    except (IndexError, TypeError) as e:
        return type(e).__name__, str(e)


def fn(x):
    heap = [5, 3.5, True, -2, 3]
    first = heap
    heapq.heapify(heap)
    smallest = heapq.heappop(heap)
    heapq.heappush(heap, 0)
    replaced = heapq.heapreplace(heap, 9)
    kept = heapq.heappushpop(heap, -7)
    beams = []
    for score in (2, 7, 1, 4):
        state = x * score
        heapq.heappush(beams, (-score, len(beams), state, Beam(score, state)))
    best = heapq.heappop(beams)
    heapq.heapify(OUTSIDE)
    heapq.heappush(OUTSIDE, 2)
    words = ["pear", "fig", "apple"]
    heapq.heapify(words)
    empty = attempt(heapq.heappop, [])
    same = best[2] is best[3].entry[1], first is heap
    return best[2] + smallest, heap, beams[0][:3], replaced, kept, list(OUTSIDE), words, empty, same


def inputs():
    return (torch.ones(2),)
