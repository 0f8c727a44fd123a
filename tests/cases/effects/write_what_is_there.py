"""Writing the object that is there already: another call may find another one."""

import torch

GRAPHS = 1


def fn(x, table, items, value):
    table["k"] = value
    table["n"] = 3
    items[0] = value
    return x * len(items)


def calls():
    same = "v"
    return [
        (torch.ones(2), {"k": same, "n": 3}, [same, 1], same),
        (torch.ones(2), {"k": 7, "n": 4}, [5, 1], same),
    ]
