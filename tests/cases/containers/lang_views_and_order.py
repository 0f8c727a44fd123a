"""Live dict views, set-like operations on them, ordered and default dicts, deques with tensors."""

from collections import Counter, OrderedDict, defaultdict, deque

import torch

GRAPHS = 1


def fn(x, d):
    keys, items = d.keys(), d.items()
    d["late"] = x
    late = list(keys), len(items), keys & {"a", "q"}, sorted(keys | ["z"]), keys - {"a"}
    od = OrderedDict(zip("abc", (x, x + 1, x + 2)))
    od.move_to_end("a")
    first = od.popitem(last=False)
    groups = defaultdict(list)
    for i, k in enumerate("abca"):
        groups[k].append(x * i)
    window = deque(maxlen=2)
    for i in range(4):
        window.append(x + i)
        if i > 1:
            window.rotate()
    counts = Counter("hello")
    counts.update("llo")
    return (
        late,
        list(od),
        first,
        {k: torch.stack(v).sum() for k, v in groups.items()},
        list(window),
        counts["l"],
        sorted(counts.items()),
        [k for k in reversed(od)],
        dict(sorted(d.items(), key=lambda kv: kv[0])),
        {**d, "a": 0}["a"],
        d.pop("missing", None),
        d.setdefault("new", []) is d["new"],
    )


def inputs():
    return (torch.ones(2), {"a": 1, "b": [2]})
