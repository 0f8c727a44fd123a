"""Deep copies of modules that are alike are one compilation, apart from what parts share."""

import copy

import torch

GRAPHS = 3
SNAPSHOT = False
REFERENCE_WRONG = "copies a shared parameter twice"


class Pair:
    def __init__(self, first, second):
        self.first, self.second = first, second


def model(shares):
    made = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 2))
    if shares:
        made[2].weight = made[0].weight
    return made


def fn(x, model, pair):
    made = copy.deepcopy(model)
    other = copy.deepcopy(pair)
    other.first.append(1)
    lists = copy.deepcopy([pair.first, pair.second])
    shared = [made[0].weight is made[2].weight, len(other.second), lists[0] is lists[1]]
    outer = ([1], 2)
    tuples = copy.deepcopy([outer, {"again": outer}])
    return made(x), shared, len(vars(other)), tuples[0] is tuples[1]["again"]


def calls():
    x = torch.ones(2)
    one = [3]
    apart = [(x, model(False), Pair([3], [3])) for _ in range(3)]
    return [*apart, (x, model(True), Pair([3], [3])), (x, model(False), Pair(one, one)), apart[0]]
