"""A mapping proxy shows its dictionary, later changes included."""

import types

import torch

GRAPHS = 2

config = {"scale": 2, "weight": torch.full((2,), 3.0)}
proxy = types.MappingProxyType(config)


def refused(f, *args):
    try:
        return f(*args)
    except (KeyError, TypeError) as e:
        return type(e).__name__, str(e)


def fn(x, numbers):
    y = x * proxy["scale"] * proxy["weight"]
    for v in proxy.values():
        y = y + v
    config["more"] = 5
    seen = len(proxy), list(proxy), "more" in proxy, proxy.get("none", 3), proxy["more"]
    made = dict(numbers), {**numbers}, numbers | {"b": 9}, numbers.copy(), bool(numbers)
    same = numbers == {"a": 1}, numbers == numbers, repr(numbers), list(reversed(proxy))
    wrong = refused(lambda: proxy["none"]), refused(hash, numbers)
    del config["more"]
    return y, seen, made, same, wrong


def calls():
    numbers = [types.MappingProxyType(d) for d in ({"a": 1}, {"a": 1}, {"a": 1, "c": 2})]
    return [(torch.ones(2), n) for n in numbers]
