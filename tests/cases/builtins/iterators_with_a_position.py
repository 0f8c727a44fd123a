"""Iterators that existed before: captured where they stand, and advanced for the program."""

import itertools

import torch

GRAPHS = 2


def half(it):
    next(it)
    return it


def fn(x, over_tuple, over_list, back, over_range, count):
    y = x * next(over_tuple) + next(over_list) + next(back) * next(count) + next(over_range)
    rest = next(over_tuple), next(over_range), next(over_range, None), next(over_range, 7)
    return y + next(count), rest, repr(count)


def calls():
    found = []
    for n in (1, 1, 2):
        x, more = torch.ones(2), torch.full((2,), 3.0)
        its = [half(iter((0, 2, 3, 4))), half(iter([5, x, more])), half(reversed([4, n, 6]))]
        found.append((x, *its, half(iter(range(0, 9, 3))), itertools.count(3, 2)))
    return found
