"""Cases of elementwise rules."""

from spec import TABLE, T, rule


def layouts(d="f4"):
    """Tensors of many layouts."""
    yield T(2, 3, 4, 5, d=d)
    yield T(d=d)
    yield T(3, d=d)
    yield T(2, 3, d=d, l="t")
    yield T(2, 3, 4, 5, d=d, l="cl")
    yield T(2, 3, 4, 5, d=d, l="p")
    yield T(2, 3, 4, 5, d=d, l="r")
    yield T(3, 4, d=d, l="s")
    yield T(3, 4, d=d, l="e")
    yield T(3, 4, d=d, l="el")
    yield T(2, 3, 4, d=d, l="e")
    yield T(2, 3, 4, d=d, l="o")
    yield T(0, 3, d=d)
    yield T(2, 0, 3, d=d, l="t")
    yield T(1, 3, 1, 5, d=d, l="cl")
    yield T(2, 3, 1, 1, d=d, l="cl")
    yield T(2, 1, 4, 5, d=d, l="cl")
    yield T(1, 1, d=d)
    yield T(2, 2, 3, 4, 5, d=d, l="cl")
    yield T(4, 1, 3, d=d, l="r")


ALL = ["f4", "f8", "f2", "bf", "i8", "i4", "i2", "i1", "u1", "b", "c4", "c8"]


@rule(
    "exp",
    "log",
    "sin",
    "cos",
    "tan",
    "sqrt",
    "rsqrt",
    "sigmoid",
    "tanh",
    "log2",
    "log10",
    "log1p",
    "expm1",
    "exp2",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "asinh",
    "acosh",
    "atanh",
    "reciprocal",
    "erf",
    "erfc",
    "erfinv",
    "lgamma",
    "digamma",
    "i0",
    "sinc",
    "deg2rad",
    "rad2deg",
    "entr",
    "erfcx",
    "i0e",
    "i1",
    "i1e",
    "log_ndtr",
    "ndtr",
    "ndtri",
    "isnan",
    "isfinite",
    "isinf",
    "logical_not",
    "signbit",
    "isposinf",
    "isneginf",
    "floor",
    "ceil",
    "trunc",
    "round",
    "frac",
    "sign",
    "sgn",
    "square",
    "bitwise_not",
    "nan_to_num",
    "logit",
    "neg",
    "positive",
    "conj",
    "abs",
    "angle",
    "frexp",
    "isreal",
    "real",
    "imag",
)
def unary():
    for t in layouts():
        yield (t,)
    for d in ALL:
        yield (T(3, 4, d=d),)
        yield (T(3, 4, d=d, l="e"),)
        yield (T(3, 4, d=d, l="s"),)
        yield (T(3, 4, d=d, l="el"),)
        yield (T(d=d),)


PAIRS = [
    ((2, 3, 4, 5), (2, 3, 4, 5)),
    ((2, 3, 4, 5), (5,)),
    ((2, 3, 4, 5), (3, 1, 1)),
    ((4, 5), (2, 3, 4, 5)),
    ((2, 1, 4), (3, 1)),
    ((3,), ()),
    ((), ()),
    ((), (2, 3)),
    ((0, 3), (1, 3)),
    ((2, 3), (3, 2)),
    ((2, 3), (4,)),
    ((1,), (3, 4)),
    ((0,), (1,)),
    ((2, 3), (1, 1)),
    ((1, 1), (1,)),
    ((3, 0, 2), (1, 2)),
    ((2, 3, 1, 1), (2, 3, 4, 5)),
]


def pairs():
    for a, b in PAIRS:
        yield T(*a), T(*b)
    for l in "t", "p", "r", "cl", "s", "e", "el", "o":
        for m in "c", "cl", "p", "e":
            yield T(2, 3, 4, 5, l=l), T(2, 3, 4, 5, l=m)
        yield T(2, 3, 4, 5, l=l), T(5)
        yield T(2, 3, 4, 5, l=l), T(3, 1, 1)
        yield T(4, 5), T(2, 3, 4, 5, l=l)
        yield T(2, 3, 4, 5, l=l), T(2, 1, 4, 1)
        yield T(2, 3, 4, 5, l=l), T(2, 3, 4, 5, l="s", d="f8")
        yield T(2, 3, 4, 5, l=l, d="i8"), T(2, 3, 4, 5, d="f4")
    for l in "t", "r", "e", "el":
        yield T(3, 4, l=l), T(3, 4, l="t")
        yield T(3, 4, l=l), T(4)
        yield T(3, 4, l=l), T(3, 1)
        yield T(3, 4, l=l), T()
    yield T(2, 3, 1, 1, l="cl"), T(2, 3, 4, 5, l="cl")
    yield T(2, 3, 4, 5, l="cl"), T(1, 3, 1, 1, l="cl")


def mixed():
    for a in ALL:
        for b in ALL:
            yield T(2, 3, d=a), T(2, 3, d=b)
            yield T(2, 3, d=a), T(d=b)
            yield T(d=a), T(d=b)
            if a > b:
                yield T(3, 4, d=a, l="el"), T(3, 4, d=b, l="t")


def numbers():
    for d in ALL:
        for n in (2, 2.5, True, 1j, -1):
            yield T(2, 3, d=d), n
            yield T(d=d), n
    for l in "t", "e", "el", "s":
        yield T(3, 4, l=l), 2
        yield T(3, 4, l=l, d="i8"), 2.5


@rule(
    "add",
    "mul",
    "div",
    "sub",
    "floor_divide",
    "remainder",
    "fmod",
    "pow",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "atan2",
    "hypot",
    "logaddexp",
    "copysign",
    "xlogy",
    "zeta",
    "logaddexp2",
    "igamma",
    "igammac",
    "nextafter",
    "heaviside",
    "float_power",
    "isclose",
    "xlog1py",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "logical_and",
    "logical_or",
    "logical_xor",
    "bitwise_left_shift",
    "bitwise_right_shift",
    "gcd",
    "lcm",
    "rsub",
)
def binary():
    yield from pairs()
    yield from mixed()
    yield from numbers()


def extra(name, more):
    base = TABLE[name]

    def both():
        yield from base()
        yield from more

    TABLE[name] = both


extra(
    "add",
    [
        ([T(2, 3), T(2, 3)], {"alpha": 2}),
        ([T(2, 3, d="i8"), T(2, 3, d="i8")], {"alpha": 2.5}),
        ([T(2, 3), 3], {"alpha": 0.5}),
    ],
)
extra("sub", [([T(2, 3), T(2, 3)], {"alpha": 2})])
extra(
    "div",
    [
        ([T(2, 3, d=a), T(2, 3, d=b)], {"rounding_mode": m})
        for a in ALL
        for b in ("f4", "i8", "u1")
        for m in ("floor", "trunc")
    ],
)
for _name in ("add", "sub", "mul", "div", "floor_divide", "remainder", "pow", "bitwise_and"):
    extra(_name, [(n, T(2, 3, d=d)) for d in ALL for n in (2, 2.5, True)])


@rule("where")
def where():
    for a, b in pairs():
        yield T(5, d="b"), a, b
        yield T(2, 3, 4, 5, d="b", l="cl"), a, b
    for a, b in mixed():
        yield T(2, 3, d="b"), a, b
    for d in ALL:
        for n in (2, 2.5, True, 1j):
            yield T(2, 3, d="b"), T(2, 3, d=d), n
            yield T(2, 3, d="b", l="t"), n, T(2, 3, d=d)
            yield T(2, 3, d="b"), T(d=d), n
    for a in (1, 1.5, True):
        for b in (2, 2.5, False):
            for t in layouts("b"):
                yield t, a, b
    yield T(2, d="f4"), T(2), T(2)


@rule("where_method")
def where_method():
    for args in where():
        if isinstance(args[1], T):
            yield args[1], args[0], args[2]


@rule("clamp")
def clamp():
    for t in layouts():
        yield t, 0.2, 0.5
        yield [t], {"min": 0}
        yield [t], {"max": T()}
    for d in ALL:
        for a, b in ((0, 1), (0.5, None), (None, 2), (0, 1.5), (None, None)):
            yield T(2, 3, d=d), a, b
            yield T(d=d), a, b
            yield T(3, 4, d=d, l="e"), a, b
    for a, b in pairs():
        yield a, b
        yield a, b, T(4, 5, d="f8")


@rule("clamp_min", "clamp_max")
def clamp_min():
    for a, b in list(pairs()) + list(numbers()) + list(mixed()):
        yield a, b


@rule("lerp")
def lerp():
    for a, b in list(pairs()) + list(mixed()):
        yield a, b, 0.5
        yield a, b, T(5)


@rule("addcmul", "addcdiv")
def addcmul():
    for a, b in list(pairs()) + list(mixed()):
        yield a, b, T(3, 1)
        yield a, a, b
        yield [T(1), a, b], {"value": 2}
        yield [T(1), a, b], {"value": 2.5}


@rule("masked_fill")
def masked_fill():
    for t in layouts():
        yield t, T(d="b"), 0.0
        yield t, T(t.shape[-1] if t.shape else 1, d="b"), -1e9
    for a, b in pairs():
        yield a, b.but(d="b"), 1.5
    for d in ALL:
        for n in (0, 1.5, True, 1j, T(), T(d="i8"), T(d="f8")):
            yield T(2, 3, d=d), T(2, 3, d="b"), n
    yield T(2, 3), T(2, 3, d="u1"), 1


@rule("masked_scatter")
def masked_scatter():
    for t in layouts():
        yield t, T(d="b"), T(2000)
        yield t, T(t.shape[-1] if t.shape else 1, d="b"), T(2000)
        yield t, T(d="b"), T(2000, d="f8")
    for a, b in pairs():
        yield a, b.but(d="b"), T(2000)
    for d in ALL:
        yield T(2, 3, d=d), T(2, 3, d="b"), T(6, d=d)
    yield T(2, 3), T(2, 3, d="u1"), T(6)


@rule("fill_")
def fill():
    for t in layouts():
        yield t, 1
        yield t, T()
        yield t, T(2)


@rule("zero_")
def zero():
    for t in layouts():
        yield (t,)


@rule("copy_")
def copy():
    for a, b in list(pairs()) + list(mixed()):
        yield a, b


@rule("polygamma")
def polygamma():
    for t in layouts():
        yield 1, t
        yield 2, t
    for d in ALL:
        yield 1, T(3, 4, d=d)
        yield -1, T(3, 4, d=d)
