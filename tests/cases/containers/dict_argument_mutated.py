"""A dict of the caller's is changed."""

import torch

GRAPHS = 1


def fn(state, x):
    state["count"] = state["count"] + 1
    state["last"] = x * state["count"]
    state.pop("old", None)
    return state["last"]


def calls():
    return [({"count": 3, "old": 1}, torch.ones(2)), ({"count": 3, "old": 2}, torch.ones(2))]
