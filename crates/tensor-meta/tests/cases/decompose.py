"""Cases of decompositions and of products of matrices."""

from spec import T, rule

WIDE = (5, 3), (3, 5), (3, 3), (2, 5, 3), (2, 1, 3, 4), (1, 1)


def matrices(*rest):
    for shape in WIDE:
        for d in "f4", "f8":
            for l in "c", "t", "s":
                for r in rest:
                    yield [T(*shape, d=d, l=l)], r
    for t in T(3), T(0, 3, 3), T(3, 3, d="i8"), T(3, 3, d="c4"):
        yield [t], rest[0]


@rule("qr")
def qr():
    yield from matrices({}, {"mode": "complete"}, {"mode": "r"}, {"mode": "x"})


@rule("svd")
def svd():
    yield from matrices({}, {"full_matrices": False})


@rule("svdvals")
def svdvals():
    yield from matrices({})


@rule("lu_factor")
def lu_factor():
    yield from matrices({})


def square(*rest):
    for shape in (3, 3), (2, 4, 4), (2, 1, 3, 3), (1, 1):
        for d in "f4", "f8":
            for l in "c", "t":
                for r in rest:
                    yield T(*shape, d=d, l=l), *r
    for t in T(2, 3), T(3), T(3, 3, d="i8"), T(0, 3, 3):
        yield t, *rest[0]


@rule("eigh", "eigvalsh")
def eigh():
    yield from square((), ("U",), ("L",))


@rule("matrix_exp")
def matrix_exp():
    yield from square(())


@rule("matrix_power")
def matrix_power():
    yield from square((0,), (1,), (2,), (3,), (5,), (-1,), (4,))


@rule("solve")
def solve():
    for a, b in (
        ((3, 3), (3, 2)),
        ((3, 3), (3,)),
        ((2, 3, 3), (2, 3, 4)),
        ((2, 3, 3), (3, 4)),
        ((2, 3, 3), (2, 3)),
        ((3, 3), (2, 2)),
        ((1, 1), (1, 1)),
    ):
        for d in "f4", "f8":
            for l in "c", "t":
                yield T(*a, d=d, l=l), T(*b, d=d)
                yield T(*a, d=d), T(*b, d=d, l=l)
    yield [T(3, 3), T(2, 3)], {"left": False}
    yield T(3, 3), T(3, 2, d="f8")


@rule("multi_dot")
def multi_dot():
    for d in "f4", "f8":
        for l in "c", "t":
            yield ([T(2, 3, d=d, l=l), T(3, 4, d=d, l=l)],)
            yield ([T(2, 3, d=d, l=l), T(3, 4, d=d, l=l), T(4, 5, d=d)],)
            yield ([T(2, 3, d=d), T(3, 4, d=d), T(4, 5, d=d, l=l), T(5, 1, d=d)],)
    yield ([T(2, 3), T(4, 5)],)
    yield ([T(3), T(3, 5)],)


@rule("addr")
def addr():
    for l in "c", "t":
        yield T(3, 4, l=l), T(3), T(4)
        yield [T(3, 4, l=l), T(3), T(4)], {"beta": 0.5, "alpha": 2.0}
        yield T(4), T(3), T(4)
    yield T(3, 4, d="f8"), T(3, d="f8"), T(4, d="f8")
    yield T(3, 4), T(3), T(5)
    yield T(3, 4), T(3, 1), T(4)


@rule("vdot")
def vdot():
    for d in "f4", "f8", "c4", "i8", "b", "bf":
        yield T(3, d=d), T(3, d=d)
        yield T(3, d=d), T(4, d=d)
    yield T(3, 2), T(3, 2)
    yield T(3), T(3, d="f8")


@rule("addbmm")
def addbmm():
    for d in "f4", "f8", "i8", "bf":
        for l in "c", "t":
            yield T(3, 5, d=d, l=l), T(2, 3, 4, d=d, l=l), T(2, 4, 5, d=d, l=l)
            yield T(5, d=d), T(2, 3, 4, d=d), T(2, 4, 5, d=d)
    yield [T(3, 5), T(2, 3, 4), T(2, 4, 5)], {"beta": 0.5, "alpha": 2}
    yield T(3, 5), T(2, 3, 4), T(2, 5, 5)


@rule("pairwise_distance")
def pairwise_distance():
    for shape in (3,), (2, 3), (2, 4, 3), (), (0, 3):
        for d in "f4", "f8", "bf", "i8":
            for l in "c", "t":
                yield T(*shape, d=d, l=l), T(*shape, d=d, l=l)
                yield [T(*shape, d=d, l=l), T(*shape, d=d, l=l)], {"keepdim": True, "p": 1.0}
    yield T(2, 3), T(3)
