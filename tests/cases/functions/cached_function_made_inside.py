"""Functions under `functools.lru_cache` that the compiled function makes and calls itself."""

import functools

import torch

GRAPHS = 1


def fn(x):
    calls = []

    @functools.lru_cache
    def scaled(n):
        calls.append(n)
        return x * n

    @functools.cache
    def square(n):
        return n * n

    @functools.lru_cache(maxsize=2)
    def last(n, *, by=1):
        calls.append((n, by))
        return n * by

    @functools.lru_cache(typed=True)
    def kind(n):
        return type(n).__name__

    same = scaled(2) is scaled(2)
    scaled(True), scaled(1)
    for n in (1, 2, 1, 3, 1, 2):
        last(n, by=2)
    last.cache_clear()
    last(2, by=2)
    infos = [tuple(f.cache_info()) for f in (scaled, square, last)]
    names = [scaled.__name__, last.__wrapped__(5), last.cache_parameters(), len(vars(scaled))]
    kinds = [kind(1), kind(1.0), type(kind) is functools._lru_cache_wrapper, callable(kind)]
    asked = [isinstance(kind, functools._lru_cache_wrapper), isinstance(kind, type(fn))]
    try:
        square([1])
    except TypeError as e:
        asked.append(str(e))
    for name in ("hits", "size", "typed", "__get__", "__wrapped__"):
        asked.append(hasattr(kind, name))
    return scaled(2) + square(20) + square(20), same, calls, infos, names, kinds, asked


def inputs():
    return (torch.arange(3.0),)


def calls():
    return [inputs() for _ in range(3)]
