"""A library's function under a cache that computes with a size: its result follows the size."""

import sysconfig

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 4  # The text makes the size a constant.
SNAPSHOT = False

SOURCE = """
import functools

class Recipe:
    def __init__(self, order):
        self.order = order

@functools.lru_cache
def recipe(text):
    return Recipe([int(c) for c in text])

@functools.lru_cache
def plan(recipe, shape, more):
    sizes = [shape[i] for i in recipe.order]
    return sizes, {"all": [sizes[0] * sizes[1]]}, recipe.order, None, f"{sizes[0]}", more * 1.5
"""

library = {}
exec(compile(SOURCE, f"{sysconfig.get_path('purelib')}/plans.py", "exec"), library)


def fn(x, text):
    sizes, of, order, nothing, said, more = library["plan"](library["recipe"](text), x.shape, 2)
    last = x.permute(order).reshape(of["all"] + [-1]) * more
    return last.expand(2, *last.shape), sizes[0] + 1, len(said), nothing


def calls():
    return [(torch.arange(6.0 * n).view(n, 2, 3), "102") for n in (2, 2, 3, 5, 7)]
