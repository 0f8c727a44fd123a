"""Cases of scattering."""

from elementwise import ALL, layouts
from spec import T, rule


@rule("scatter_reduce")
def scatter_reduce():
    for l in "c", "t", "r":
        for reduce in "sum", "prod", "mean", "amax", "amin", "other":
            for dim, shape in (0, (3, 4)), (1, (3, 4)), (-1, (2, 2)), (0, (5, 4)), (1, (4, 2)):
                index = T(*shape, d="i8", high=3)
                yield T(3, 4, l=l), dim, index, T(*shape), reduce
                yield [T(3, 4, l=l), dim, index, T(5, 6), reduce], {"include_self": False}
    yield T(3, 4), 0, T(3, 4, d="i8", high=3), 1.0, "sum"
    yield T(3, 4), 0, T(3, 4, d="i8", high=3), T(3, 4, d="f8"), "sum"
    yield T(3, 4, d="i8"), 0, T(3, 4, d="i8", high=3), T(3, 4, d="i8"), "sum"


@rule("index_fill")
def index_fill():
    for t in layouts():
        for value in 1, 0.5, T(), T(d="f8"), T(1):
            yield t, 0, T(1, d="i8", high=1), value
            yield t, -1, T(d="i8", high=1), value
    for d in ALL:
        for value in 1, 0.5, 1j, T():
            yield T(3, 4, d=d), 1, T(2, d="i8", high=3), value
    yield T(3, 4), 0, T(2, d="i4", high=3), 1.0


@rule("index_put")
def index_put():
    rows, columns = T(2, d="i8", high=2), T(2, d="i8", high=3)
    for l in "c", "t":
        x = T(3, 4, l=l)
        for values in T(2), T(), T(1), T(2, d="f8"), T(3):
            yield x, (rows, columns), values
            yield [x, (rows, columns), values], {"accumulate": True}
        for values in T(2, 4), T(4), T(), T(3, 2):
            yield x, (rows,), values
            yield x, [rows], values
        yield x, (None, columns), T(3, 2)
    for d in "f8", "i8", "b":
        yield T(3, 4, d=d), (rows,), T(2, 4, d=d)
    yield T(2, 3, 4, l="p"), (rows, None, columns), T(2, 3)
    yield T(3, 4), (T(3, 4, d="b"),), T()


@rule("slice_scatter")
def slice_scatter():
    for l in "c", "t":
        x = T(4, 6, l=l)
        yield x, T(4, 6)
        yield x, T(2, 6), 0, 0, 2
        yield x, T(4, 3), 1, None, None, 2
        yield x, T(4, 2), -1, 4
        yield x, T(4, 2), -1, -2
        yield x, T(3, 3), 1, 0, 3
        yield x, T(4, 3, d="f8"), 1, 0, 3
        yield [x, T(4, 3)], {"dim": 1, "start": 1, "end": 4}
    yield T(4, 6, d="i8"), T(2, 6, d="i8"), 0, 0, 2


@rule("select_scatter")
def select_scatter():
    for l in "c", "t":
        x = T(4, 6, l=l)
        for dim, index in (0, 0), (1, -1), (-1, 5), (0, 4):
            yield x, T(6), dim, index
            yield x, T(4), dim, index
            yield x, T(4, d="f8"), dim, index
    yield T(3), T(), 0, 1


@rule("take")
def take():
    for t in layouts():
        yield t, T(2, 3, d="i8", high=1)
        yield t, T(2, 3, d="i8", high=1, l="t")
        yield t, T(d="i8", high=1)
    yield T(3), T(2, d="i4", high=2)


@rule("isin")
def isin():
    for d in "i8", "f4", "i4", "b":
        for t in T(2, 3, d=d), T(2, 3, d=d, l="t"), T(d=d), T(0, d=d):
            yield t, T(4, d=d)
            yield t, T(2, 30, d=d)
            yield [t, T(4, d=d)], {"invert": True}
            yield t, 1
    yield T(2, 3, d="i8"), T(4)
