"""What is printed keeps its order, also around graph breaks, in loops and in functions."""

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 1


class Shown:
    def __init__(self, items):
        self.items = items

    def __str__(self):
        return f"<{self.items}>"


def helper(x, name):
    print("enter", name)
    y = x * 2
    print("leave", name, y.sum())
    return y


def fn(x, log):
    log.append(1)
    print("log", log)
    for i in range(3):
        x = helper(x, f"step {i}")
        log.append(i)
    shown = Shown(log)
    print("log", log, shown)
    if x.sum() > 1000:
        print("large")
    else:
        print("small", x.mean())
    log.append(shown.items[-1] + 1)
    print("end", log, (1, "a"), x.shape)
    return x


def inputs():
    return (torch.ones(3), [])
