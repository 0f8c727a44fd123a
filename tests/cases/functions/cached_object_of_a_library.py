"""An object that the cache of a library's function holds: who changes it, hands it out or goes on
with it has the one of the cache."""

import sysconfig

import torch

GRAPHS = 1

SOURCE = """
import functools

@functools.lru_cache
def axes(n):
    return list(range(n))

@functools.lru_cache
def steps(n):
    return iter(range(n))
"""

library = {}
exec(compile(SOURCE, f"{sysconfig.get_path('purelib')}/axes.py", "exec"), library)
axes, steps = library["axes"], library["steps"]


def changed(x):
    axes(2).append(7)
    return x + len(axes(2)), axes(2)[-1]


def handed_out(x):
    return x * 2, axes(3), axes(3) is axes(3)


def goes_on(x):
    return x * (next(steps(9)) + 2) + next(steps(9))


def fn(x):
    return changed(x), handed_out(x), goes_on(x)


def inputs():
    axes.cache_clear()
    steps.cache_clear()
    return (torch.ones(2, 3),)
