"""A class that `type` makes of plain values, and proxies of dictionaries that are made inside."""

import types

import torch

GRAPHS = 1
SNAPSHOT = False
REFERENCE_WRONG = "torch.compile makes no instance of such a class, and names another module"

table = {"n": 2}


def made(x):
    Options = type("Options", (), {"scale": 3, "names": ("a", "b")})
    Other = type("Options", (), {"scale": 3, "names": ("a", "b")})
    options = Options()
    options.x = x * options.scale
    Options.scale = 4
    Options.late = x
    kinds = [Options is Other, isinstance(options, Other), type(options) is Options]
    return options, Options, kinds, Options.names is options.names, Options().scale


def shown(x):
    inside = {"x": x}
    proxy = types.MappingProxyType(inside)
    inside["y"] = x + 1
    outer = types.MappingProxyType(table)
    try:
        proxy["z"] = 1
    except TypeError as e:
        refused = str(e)
    kinds = [isinstance(proxy, dict), proxy == inside, bool(outer), "y" in proxy, len(proxy)]
    return proxy["y"] * outer["n"], proxy, outer, inside, kinds, refused, list(proxy)


def fn(x):
    options, cls, kinds, same, scale = made(x)
    text = [cls.__name__, cls.__module__, cls.__mro__[1] is object, repr(cls), scale]
    return options.x, cls.late, cls.scale, options, kinds, same, text, shown(x)


def inputs():
    return (torch.arange(3.0),)
