"""Tensors deep inside lists, tuples and dicts, in and out."""

import torch

GRAPHS = 1


def fn(data):
    a = data["a"][0]
    b, (c, d) = data["b"]
    data["a"].append(a + b)
    data["new"] = {"sum": c + d}
    return {"out": [a * 2, (b, [c, {"d": d}])], "same": data["a"]}


def calls():
    def one():
        return {"a": [torch.ones(2)], "b": (torch.ones(2), (torch.zeros(2), torch.ones(2)))}

    return [(one(),), (one(),)]
