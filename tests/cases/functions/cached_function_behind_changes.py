"""A cached function that reads what was just changed answers with what it gave before."""

import functools

import torch

GRAPHS = 8
BREAKS = ["Cached function that reads what can change"]
SNAPSHOT = False
REFERENCE_WRONG = "does not look into the cache"

number = 0
items = [0]


class Class:
    value = 0


def helper():
    pass


@functools.lru_cache
def of_global(k):
    return number + k


@functools.lru_cache
def of_list(k):
    return items[0] + k


@functools.lru_cache
def of_class(k):
    return Class.value + k


@functools.lru_cache
def of_function(k):
    return helper.value + k


def fn(x):
    global number
    size = x.shape[0]
    number = size
    x = x + of_global(1)
    items[0] = size
    x = x * of_list(1)
    Class.value = size
    x = x - of_class(1)
    helper.value = size
    return x * of_function(1)


def calls():
    return [(torch.ones(size),) for size in (2, 3, 2)]
