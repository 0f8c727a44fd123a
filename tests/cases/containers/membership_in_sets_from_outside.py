"""`in` of a set from outside: where its other items change, nothing is compiled again."""

import torch

SNAPSHOT = False
GRAPHS = 8
REFERENCE_GRAPHS = 8


class A:
    pass


class B(A):
    pass


class Equal(type):
    def __eq__(cls, other):
        return other is int or cls is other

    def __hash__(cls):
        return hash(int)


class OfEqual(metaclass=Equal):
    pass


KINDS = {A, int}
LIKE_INT = frozenset({OfEqual, str})
MANY = frozenset(range(100))


def of_names(x, names, n):
    before = n in names
    names.discard(n)
    return x + 1 if before and n not in names else x - 1


def of_classes(x, names, n):
    return x + 2 if type(n) in KINDS else x - 2


def of_equal_classes(x, names, n):
    kind = OfEqual if n is None else type(n)
    return x + 3 if kind in LIKE_INT else x - 3


def of_numbers(x, names, n):
    return x + 4 if n in MANY else x - 4


FUNCTIONS = of_names, of_classes, of_equal_classes, of_numbers


def fn(kind, x, names, n):
    return FUNCTIONS[kind](x, names, n)


def calls():
    x = torch.arange(3.0)
    few, many = {"a", "n1"}, {f"n{i}" for i in range(40)}
    found = [(0, x, set(names), n) for names in (few, many) for n in ("n1", "n1", "q")]
    found += [(0, x, many | {"other"}, "n1")]
    found += [(1, x, few, n) for n in (A(), B(), 3, "a", A())]
    found += [(2, x, few, n) for n in (None, 3, "s", 2.0)]
    return found + [(3, x, few, n) for n in (1.0, None, True, "a")]
