"""`throw()` goes to what a generator delegates to first."""

import torch

GRAPHS = 1


def inner():
    try:
        while True:
            try:
                yield 1
            except ValueError as e:
                yield "caught " + str(e)
    except KeyError:
        return "done"


def outer():
    got = yield from inner()
    yield "after " + got
    try:
        yield from iter([1, 2, 3])
    except ZeroDivisionError:
        yield "divided"


class Steps:
    def __iter__(self):
        return self

    def __next__(self):
        return 5

    def throw(self, error):
        return "thrown " + type(error).__name__


def steps():
    yield from Steps()


def fn(x):
    g = outer()
    found = [next(g), g.throw(ValueError("v")), next(g), g.throw(KeyError())]
    found += [next(g), g.throw(ZeroDivisionError()), next(g, "end")]
    h = steps()
    found += [next(h), h.throw(ValueError()), next(h)]
    h.close()
    g = outer()
    next(g)
    try:
        g.throw(TypeError("t"))
    except TypeError as e:
        found.append(str(e))
    return x + 1, found, list(g)


def inputs():
    return (torch.ones(2),)
