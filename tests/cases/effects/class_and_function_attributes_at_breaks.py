"""What is set on classes and functions is there at graph breaks, and when an exception leaves."""

import torch

GRAPHS = 5
REFERENCE_GRAPHS = 4


class Counter:
    count = 0


def helper(x):
    helper.calls += 1
    if helper.calls == 5:
        raise ValueError(helper.calls)
    return x + helper.calls


helper.calls = 0


def fn(x):
    Counter.count += 1
    x = helper(x)
    torch._dynamo.graph_break()
    Counter.count += helper.calls
    for _ in range(2):
        Counter.count += 1
        x = x * Counter.count
    try:
        x = helper(x)
    except ValueError as error:
        return x, str(error), Counter.count
    return x, Counter.count, helper.calls


def calls():
    return [(torch.ones(2),)] * 4
