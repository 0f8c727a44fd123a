"""collections: deque, defaultdict, OrderedDict, Counter."""

from collections import Counter, OrderedDict, defaultdict, deque

import torch

GRAPHS = 1


def fn(x):
    d = deque([1, 2, 3], maxlen=3)
    d.append(4)
    d.appendleft(0)
    g = defaultdict(list)
    g["a"].append(x + 1)
    o = OrderedDict(b=1, a=2)
    o.move_to_end("b")
    c = Counter("aab")
    return x + d[0], list(d), g["a"], list(o), c["a"]


def inputs():
    return (torch.randn(2),)
