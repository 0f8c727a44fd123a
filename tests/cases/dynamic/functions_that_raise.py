"""Where a function raises for a new value, the program raises where eager does."""

import math

import torch

GRAPHS = 2

seen = []


def fn(x, n):
    seen.append(n)
    print("before")
    y = x * 2
    try:
        y = y * math.sqrt(n)
    except ValueError as e:
        print("caught", e)
        return y, str(e)
    seen.append(-n)
    return y, f"{math.log(n + 1):.2f}"


def calls():
    x = torch.ones(2)
    return [(x, 4), (x, 9), (x, 2), (x, -1), (x, 0), (x, 16)]
