"""Views of dictionaries that were there before: what they show is guarded."""

import collections

import torch

GRAPHS = 4
SNAPSHOT = False
REFERENCE_BREAKS = ["C-implemented special method without VariableTracker model"] * 2
REFERENCE_GRAPHS = 0

plain = {"a": 1, "b": 2}
ordered = collections.OrderedDict(plain)


class Holder:
    def __init__(self):
        self.keys, self.values, self.items = plain.keys(), ordered.values(), plain.items()


def fn(x, keys, holder):
    for key, value in holder.items:
        x = x + value * len(key)
    x = x * len(keys) - sum(holder.values)
    named = "b" in keys, keys & {"a"}, keys == holder.keys
    torch._dynamo.graph_break()
    return x * len(holder.keys), named, keys, list(reversed(holder.values))


def calls():
    holder = Holder()
    views = plain.keys(), ordered.keys(), {"a": 3}.keys()
    return [(torch.ones(2), keys, holder) for keys in (*views, *views)]
