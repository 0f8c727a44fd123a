"""Cases of complex tensors and their halves."""

from elementwise import ALL, PAIRS, layouts
from spec import TABLE, T, rule


@rule("view_as_complex")
def view_as_complex():
    for d in "f4", "f8", "f2", "bf", "i8", "c4":
        for shape in (2,), (3, 2), (2, 3, 2), (2, 3, 4, 2), (3, 1), (0, 2), ():
            yield (T(*shape, d=d),)
    for l in "t", "p", "r", "s", "e", "o":
        yield (T(2, 4, 2, l=l),)
        yield (T(2, 2, l=l),)


@rule("view_as_real")
def view_as_real():
    for d in "c4", "c8":
        for t in layouts(d):
            yield (t,)
    yield (T(2, 3),)


def half(name):
    def cases():
        for d in "f4", "c4", "c8", "i8":
            for t in layouts(d):
                yield t, name

    return cases


TABLE["attribute_real"] = half("real")
TABLE["attribute_imag"] = half("imag")


@rule("complex", "polar")
def of_halves():
    for a, b in PAIRS:
        yield T(*a), T(*b)
    for t in layouts():
        yield t, t
    for d in ALL:
        yield T(3, 4, d=d), T(3, 4, d=d)
        yield T(3, 4, d=d), T(3, 4)
