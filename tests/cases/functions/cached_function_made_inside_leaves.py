"""A function under `functools.lru_cache` that is made inside and handed out is the one in C."""

import functools

import torch

GRAPHS = 11
REFERENCE_GRAPHS = 10
BREAKS = [
    "Unsupported Tensor.item() call",
    "Object made in the compiled function is needed outside of it",
    "Cached function that reads what can change",
]
SNAPSHOT = False

kept = []


def made(x):
    @functools.lru_cache
    def scaled(n):
        return x * n

    scaled(2)
    return scaled


def across(x):
    @functools.cache
    def scaled(n):
        return x * n

    y = scaled(2)
    print("a break", (y.sum() > 0).item())
    return y is scaled(2), scaled(3), scaled.cache_info()


def bound(x):
    @functools.cache
    def scaled(n):
        return x * n

    return scaled.cache_info, scaled(4)


def fails(x):
    @functools.cache
    def scaled(n):
        raise ValueError(n)

    return scaled(4)


def remembered(x):
    @functools.cache
    def scaled(n):
        return x * n

    kept.append(scaled)
    return scaled(2) + 1


def recursive(x):
    @functools.cache
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    return x * fib(10), fib.cache_info()


def fn(x):
    scaled = made(x)
    info, four = bound(x)
    try:
        fails(x)
    except ValueError as e:
        error = str(e)
    results = scaled(2), scaled(5), scaled.cache_info(), type(scaled).__name__
    return results, across(x), info(), four, error, recursive(x), remembered(x), len(kept)


def inputs():
    return (torch.arange(3.0),)


def calls():
    return [inputs() for _ in range(3)]
