"""A library's function under `functools.lru_cache` may give objects that can change: they are
looked into while tracing."""

import sysconfig

import torch

SOURCE = """
import functools

class Recipe:
    def __init__(self, pattern, n):
        self.axes = pattern.split()
        self.order = {a: i for i, a in enumerate(self.axes)}
        self.n = n

@functools.lru_cache(16)
def parsed(pattern, n):
    if n > 8:
        raise ValueError(pattern)
    return Recipe(pattern, n)

@functools.lru_cache
def shapes(recipe, shape):
    return [s * recipe.n for s in shape], recipe.order, list(range(len(shape)))[::-1]
"""

library = {}
exec(compile(SOURCE, f"{sysconfig.get_path('purelib')}/recipes.py", "exec"), library)
parsed, shapes = library["parsed"], library["shapes"]

GRAPHS = 1


def applied(x, pattern, n):
    try:
        recipe = parsed(pattern, n)
        sizes, order, axes = shapes(recipe, x.shape)
    except ValueError as e:
        return x - 1, str(e)
    try:
        shapes(recipe, list(x.shape))
    except TypeError as e:
        refused = str(e)
    return x.permute(axes).reshape(-1) * sizes[order["b"]], (refused, parsed(pattern, n) is recipe)


def fn(x):
    y, more = applied(x, "a b", 2)
    z, error = applied(x, "a b", 9)
    return y + applied(x, "b a", 3)[0], z, more, error


def inputs():
    for f in (parsed, shapes):
        f.cache_clear()
    return (torch.ones(2, 3),)
