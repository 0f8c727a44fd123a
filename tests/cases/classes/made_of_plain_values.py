"""Classes and enums that are made of plain values inside, and proxies of dictionaries."""

import enum
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


def read(x):
    """What the translation knows of a class of its own, it does not read from it at run time."""
    Options = type("Options", (), {"text": "ab", "n": 3})
    return Options.text.upper(), repr(Options.n), f"{Options.n:03}", x * Options.n


def enumerated(x):
    Colour = enum.Enum("Colour", "red green")
    Size = enum.IntEnum("Size", {"small": 3, "large": 5})
    Mode = enum.Flag("Mode", ["read", "write", "run"])
    both = Mode.read | Mode.run
    found = {Colour.red: 1, Colour.green: 2}[Colour(2)]
    texts = [repr(Colour.red), str(Size.small), Colour.green.name, Colour.__module__]
    same = [Colour.red is Colour["red"], Colour is enum.Enum("Colour", "red green")]
    return x * Size.large + found, Size(3) + 1, Mode.write in both, texts, same, Colour.green


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
    results = options.x, cls.late, cls.scale, options, kinds, same, text, shown(x)
    return results, read(x), enumerated(x)


def inputs():
    return (torch.arange(3.0),)
