"""Cases of indexing, joining and reordering."""

from elementwise import layouts
from spec import TABLE, T, rule

S = slice
I = dict(d="i8", high=2)


def indices():
    n = None
    yield from (
        0,
        -1,
        5,
        n,
        ...,
        S(n),
        S(1, n),
        S(n, -1),
        S(0, 9, 2),
        S(-1, n),
        S(2, 1),
        S(n, n, -1),
        (),
        (0, 1),
        (..., 0),
        (n, 0),
        (S(n), n),
        (0, ..., n),
    )
    yield from (
        (S(n), 0),
        (S(n), S(1, 3)),
        (..., n),
        (..., S(n, 2)),
        (n, ..., n, n),
        (S(n), n, S(n, n, 2)),
        (0, 0, 0, 0, 0),
        (..., ...),
        (S(n), S(n), 0),
        (True,),
        True,
    )
    yield from (
        T(3, **I),
        T(2, 3, **I),
        (T(3, **I), T(3, **I)),
        (S(n), T(3, **I)),
        (..., T(2, **I)),
        (T(3, **I), S(n), T(3, **I)),
        (T(2, 1, **I), T(3, **I)),
        (0, T(3, **I)),
        (n, T(3, **I)),
        (T(3, **I), n),
        (T(4, **I), 0),
    )
    yield from (
        [0, 1],
        ([0, 1], 0),
        (S(n), [1, 0]),
        T(2, d="b"),
        T(3, 4, d="b"),
        T(d="i8", high=2),
        (T(2, **I), T(3, **I)),
        T(3, d="i4", high=2),
        T(0, **I),
        (T(2, 3, d="i8", high=2, l="t"),),
        (S(0, 2), T(2, 3, d="i8", high=2, l="t")),
        (S(n), S(n), T(2, **I), T(2, **I)),
        (S(n), T(2, **I), S(n), T(2, **I)),
        (0, S(n), T(2, **I)),
        [9],
        ([9], S(0, 0)),
        (S(n), [9]),
        ([9], S(n), [0]),
    )


@rule("getitem")
def getitem():
    for t in layouts():
        for i in indices():
            yield t, i


@rule("setitem")
def setitem():
    for t in list(layouts())[:14]:
        for i in indices():
            yield t, i, 1.0
            yield t, i, T()
            yield t, i, T(4)
            yield t, i, T(1, 1, 3, d="f8")


@rule("index_select")
def index_select():
    for t in layouts():
        for d in 0, 1, -1:
            yield t, d, T(2, **I)
            yield t, d, T(3, d="i4", high=2)
        yield t, 0, T(2, 2, **I)
        yield t, 0, T(**I)


@rule("gather")
def gather():
    for t in layouts():
        for s in (2, 3), (2, 1, 4, 5), (1,), (), (1, 3, 2):
            yield t, 0, T(*s, **I)
            yield t, -1, T(*s, d="i8", high=2, l="t")
    yield T(2, 3), 0, T(2, 3)


@rule("take_along_dim")
def take_along_dim():
    for t in layouts():
        for s in (2, 3), (2, 1, 4, 5), (1,), (1, 3):
            yield t, T(*s, **I), 0
            yield t, T(*s, **I), -1
            yield [t, T(*s, **I)], {"dim": 1}


@rule("scatter", "scatter_add")
def scatter():
    for t in layouts():
        for s in (2, 3), (2, 1, 4, 5), (1,), (1, 3, 2), (1, 1):
            yield t, 0, T(*s, **I), T(*s)
            yield t, -1, T(*s, **I), T(*s, d="f8")
            yield t, 1, T(*s, **I), T(2, 3)


def scatter_value():
    yield from scatter()
    for t in layouts():
        for s in (2, 3), (2, 1, 4, 5), (1,):
            yield t, 0, T(*s, **I), 1.0
            yield t, 0, T(*s, **I), 1
            yield t, 0, T(*s, **I), True
    for n in 1.5, 1, True:
        yield T(2, 3, d="b"), 1, T(2, 2, **I), n


TABLE["scatter"] = scatter_value


@rule("index_copy", "index_add")
def index_copy():
    for t in layouts():
        for d in 0, 1, -1:
            if len(t.shape) > max(d, 0):
                s = list(t.shape)
                s[d] = 2
                yield t, d, T(2, **I), T(*s)
                yield t, d, T(2, **I), T(*s, d="f8")
                yield t, d, T(3, **I), T(*s)


@rule("cat")
def cat():
    for t in layouts():
        for d in 0, 1, -1:
            yield [t, t], d
            yield (t, t.but(d="f8")), d
            yield [[t, t, t]], {"dim": d}
            yield [t], d
    for l in "c", "t", "p", "r", "cl", "h":
        yield [T(2, 3, 4, 5, l=l), T(2, 3, 4, 5)], 1
        yield [T(2, 3, 4, 5, l=l), T(2, 3, 4, 5, l="cl")], 1
        yield [T(0), T(2, 3, 4, 5, l=l)], 1
    yield [T(0), T(0)], 0
    yield [T(2, 3), T(2, 4)], 0
    yield [T(2, 3), T(2, 4)], -1
    yield [], 0
    for a in "i8", "b", "bf", "c4":
        yield [T(2, d=a), T(2)], 0


@rule("stack")
def stack():
    for t in layouts():
        for d in 0, 1, -1:
            yield [t, t], d
            yield (t, t.but(d="f8")), d
            yield [t], d
    for l in "c", "t", "p", "r", "cl":
        for s in (2, 3, 4, 5), (2, 1, 4, 5), (1, 3, 1, 2):
            for d in range(len(s) + 1):
                yield [T(*s, l=l), T(*s)], d
                yield [T(*s, l=l), T(*s, l=l)], d
    yield [T(2, 3), T(2, 4)], 0
    yield [], 0


@rule("hstack", "vstack")
def hstack():
    for t in layouts():
        yield ([t, t],)
        yield ([t, t.but(d="f8")],)
    yield ([T(2, 3), T(2, 4)],)


@rule("roll")
def roll():
    for t in layouts():
        yield t, 1
        yield t, 1, 0
        yield t, (1, 2), (0, 1)
        yield [t], {"shifts": (1,), "dims": (-1,)}
        yield t, (1, 2)


@rule("flip", "flip_function")
def flip():
    for t in layouts():
        yield t, (0,)
        yield t, [0, -1]
        yield t, 0, 1
        yield [t], {"dims": (0,)}
        yield t, (0, 0)


@rule("repeat", "tile")
def repeat():
    for t in layouts():
        for r in (2,), (1, 2), (2, 1, 1, 1), (1, 1, 1), (2, 2, 2, 2, 2), (0, 1), (-1, 2):
            yield t, r
            yield t, *r


@rule("repeat_interleave")
def repeat_interleave():
    for t in layouts():
        yield t, 2
        yield t, 2, 0
        yield [t, 3], {"dim": -1}
        yield [t], {"repeats": 1, "dim": 1}


@rule("block_diag")
def block_diag():
    yield (T(2, 3),)
    for other in (T(), T(2), T(0), T(3, 1, l="t"), T(2, d="i8"), T(d="i8"), T(d="f8"), T(2, rg=1)):
        yield T(2, 3), other
        yield other, T(2, d="i4")
        yield other, T(), T(0, 2)
    yield T(2), T(1, 1, 1)


@rule("meshgrid")
def meshgrid():
    for a, b in (
        (T(3), T(4)),
        (T(3, l="s"), T(1)),
        (T(3, d="i8"), T(4, d="i8")),
        (T(), T(2)),
        (T(2), T(2, d="f8")),
        (T(2, 2), T(2)),
        (T(0), T(2)),
    ):
        yield a, b
        yield ([a, b],)
        yield [a, b], {"indexing": "ij"}
        yield [a, b], {"indexing": "xy"}
    yield T(2), T(3), T(4)


@rule("tril", "triu")
def tril():
    for t in layouts():
        yield (t,)
        yield t, 1
        yield [t], {"diagonal": -1}


@rule("diag")
def diag():
    for t in layouts():
        yield (t,)
        yield t, 1
        yield [t], {"diagonal": -2}
        yield t, 9
    for t in T(3), T(0), T(3, l="s"), T(3, d="b"), T(2, 5), T(5, 2, d="i8"), T():
        yield (t,)
        yield t, -1
        yield [t], {"diagonal": 2}


@rule("diag_embed")
def diag_embed():
    for t in (*layouts(), T(3), T(0), T()):
        yield (t,)
        yield t, 1
        yield t, -1, 0, 1
        yield [t], {"dim1": 0, "dim2": -1}
        yield t, 0, 1, 1


@rule("diff")
def diff():
    for t in (*layouts(), T(5), T(3, d="b"), T(2, 4, d="i8"), T(0), T(1), T()):
        yield (t,)
        yield t, 2
        yield t, 1, 0
        yield [t], {"dim": -2}
        yield [t], {"prepend": t, "dim": 0}
        yield t, 1, -1, t, t
        yield t, 0
    yield [T(2, 4, d="i8")], {"prepend": T(2, 1, d="f4")}
    yield [T(2, 4)], {"append": T(3, 1)}


@rule("fliplr", "flipud")
def fliplr():
    for t in (*layouts(), T(3), T(0), T()):
        yield (t,)


@rule("histc")
def histc():
    for t in layouts():
        yield (t,)
        yield t, 4, 0, 1
        yield [t], {"bins": 5}


@rule("bucketize")
def bucketize():
    for t in layouts():
        yield t, T(5)
        yield [t, T(5)], {"right": True, "out_int32": True}
        yield t, T(5, d="f8")


@rule("searchsorted")
def searchsorted():
    for t in layouts():
        yield T(5), t
        yield [T(5), t], {"right": True, "out_int32": True}
        yield t, t
        yield T(5, d="f8"), t
    for shape in (2, 5), (3, 5):
        yield T(*shape), T(2, 4)
        yield T(*shape, l="t"), T(2, 4)
    yield T(5), 0.5
    yield [T(5), T(3)], {"side": "right"}
