"""Parameters that are called what generated code has other uses for."""

import torch as t

GRAPHS = 4


def first(self):
    return self * 2


def second(torch):
    return t.sin(torch)


def third(device, inf, nan, math):
    return t.add(device, inf) + nan * math


def fourth(operator, fx_pytree, slice, getattr):
    return (operator + fx_pytree)[:1] / slice[1:].real - getattr


def calls():
    x = t.ones(2)
    return [("first", x), ("second", x), ("third", x, x + 1, x + 2, x + 3), ("fourth", x, x, x, x)]


def fn(name, *args):
    return {"first": first, "second": second, "third": third, "fourth": fourth}[name](*args)
