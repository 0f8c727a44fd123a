"""Cases of recurrent layers, Fourier transforms, linear algebra and draws."""

import torch
from elementwise import layouts
from spec import TABLE, T, rule


def layer(states, gates):
    def cases():
        for i, h, time, batch in (6, 5, 4, 3), (3, 2, 1, 2), (2, 3, 4, 1), (4, 4, 1, 1):
            for count, both, first, bias in (
                (1, False, False, True),
                (1, False, True, True),
                (2, False, True, False),
                (1, True, False, True),
                (2, True, True, True),
            ):
                for d in "f4", "f8":
                    x = T(batch, time, i, d=d) if first else T(time, batch, i, d=d)
                    ways = 2 if both else 1
                    params = []
                    for depth in range(count):
                        for _ in range(ways):
                            wide = i if depth == 0 else h * ways
                            params += [T(gates * h, wide, d=d), T(gates * h, h, d=d)]
                            params += [T(gates * h, d=d), T(gates * h, d=d)] if bias else []
                    hx = [T(count * ways, batch, h, d=d) for _ in range(states)]
                    hx = hx if states > 1 else hx[0]
                    for train in False, True:
                        yield x, hx, params, bias, count, 0.0, train, both, first
        yield T(4, 3, 2), hx, params, True, 1, 0.0, False, False, False

    return cases


TABLE["lstm"] = layer(2, 4)
TABLE["gru"] = layer(1, 3)
TABLE["rnn_tanh"] = TABLE["rnn_relu"] = layer(1, 1)


def cell(states, gates):
    def cases():
        for batch, i, h in (3, 4, 5), (1, 1, 1), (2, 3, 3):
            for d in "f4", "f8":
                hx = [T(batch, h, d=d) for _ in range(states)]
                hx = hx if states > 1 else hx[0]
                w = [T(gates * h, i, d=d), T(gates * h, h, d=d)]
                yield T(batch, i, d=d), hx, *w
                yield T(batch, i, d=d), hx, *w, T(gates * h, d=d), T(gates * h, d=d)
                yield T(batch, i, d=d, l="t"), hx, *w
        yield T(batch + 1, i), hx, *w

    return cases


TABLE["lstm_cell"] = cell(2, 4)
TABLE["rnn_tanh_cell"] = TABLE["rnn_relu_cell"] = cell(1, 1)


@rule("fft_fft", "fft_ifft", "fft_rfft", "fft_irfft")
def transforms():
    for t in layouts():
        for rest in (), (4,), (5, -1), (None, 0):
            yield t, *rest
            yield [t, *rest], {"norm": "ortho"}
    for d in "c4", "c8", "f8", "f2", "i8", "b":
        yield (T(3, 6, d=d),)
        yield T(2, 3, 6, d=d), 7


@rule("fft_fftshift", "fft_ifftshift")
def shifts():
    for t in layouts():
        yield (t,)
        yield t, 0
        yield t, (0, -1)
    for d in "c4", "i8", "b":
        yield (T(3, 6, d=d),)


def square():
    for shape in (3, 3), (2, 3, 3), (2, 1, 4, 4), (1, 1):
        for d in "f4", "f8", "c4":
            for l in "c", "t", "s":
                yield (T(*shape, d=d, l=l),)
    for t in T(2, 3), T(3), T(3, 3, d="i8"), T(0, 3, 3), T(3, 3, d="bf"):
        yield (t,)


TABLE.update({n: square for n in ("inverse", "det", "logdet", "slogdet")})


@rule("cholesky")
def cholesky():
    identity = [[2.0, 0.5], [0.5, 2.0]]
    for d in "f4", "f8":
        yield (T(v=identity, d=d),)
        yield (T(v=[identity, identity], d=d),)
        yield [T(v=identity, d=d)], {"upper": True}


@rule("solve_triangular")
def solve_triangular():
    for a, b, left in (
        ((3, 3), (3, 2), True),
        ((3, 3), (2, 3), False),
        ((2, 3, 3), (2, 3, 4), True),
        ((3, 3), (5, 3, 1), True),
        ((2, 1, 3, 3), (4, 3, 3), False),
        ((3, 3), (2, 3), True),
        ((3, 3), (3,), True),
        ((1, 1), (1, 1), True),
    ):
        for d in "f4", "f8", "c4":
            for l in "c", "t":
                given = [T(*a, d=d, l=l), T(*b, d=d, l=l)]
                yield given, {"upper": True, "left": left}
                yield given, {"upper": False, "left": left, "unitriangular": True}
    yield [T(3, 3), T(3, 2)], {"upper": False}
    yield [T(3, 3), T(3, 2, d="f8")], {"upper": False}


@rule("trace")
def trace():
    for d in "f4", "f8", "c4", "i8", "u1", "b", "bf":
        yield (T(3, 4, d=d),)
        yield (T(3, 4, d=d, l="t"),)
    yield (T(3),)


@rule("addmv")
def addmv():
    for c in T(2), T(1), T(), T(3):
        for l in "c", "t":
            yield c, T(2, 3, l=l), T(3)
            yield [c, T(2, 3, l=l), T(3)], {"beta": 0.5, "alpha": 2}
    yield T(2), T(2, 3), T(4)
    yield T(2, d="f8"), T(2, 3), T(3)


@rule("inner")
def inner():
    for a, b in ((3,), (3,)), ((2, 3), (4, 3)), ((2, 3), (3,)), ((5, 2, 3), (4, 3)), ((2,), (3,)):
        for d in "f4", "f8", "bf":
            yield T(*a, d=d), T(*b, d=d)
            yield T(*a, d=d, l="t"), T(*b, d=d, l="t")


@rule("cross")
def cross():
    for shape, dim in ((3,), 0), ((2, 3), -1), ((3, 4), 0), ((2, 3, 4), 1), ((2, 4), -1):
        for d in "f4", "f8", "i8", "b":
            for l in "c", "t":
                yield [T(*shape, d=d, l=l), T(*shape, d=d, l=l)], {"dim": dim}


library = torch.library.Library("transformers", "DEF")
library.define("grouped_mm_fallback(Tensor input, Tensor weight, Tensor offs) -> Tensor")


def products(x, weight, offs):
    """What the operator of that name computes, for the order and the sizes of its result."""
    ends = offs.tolist()
    parts = [x[a:b] @ w for a, b, w in zip([0, *ends], ends, weight, strict=False)]
    return torch.cat(parts)


library.impl("grouped_mm_fallback", products, "CompositeImplicitAutograd")


@rule("grouped_mm_fallback")
def grouped():
    for d in "f4", "f8":
        yield T(6, 3, d=d), T(2, 3, 4, d=d), T(v=[2, 6], d="i4")
        yield T(6, 3, d=d), T(2, 3, 4, d=d, l="t"), T(v=[2, 6], d="i8")


@rule("uniform_", "exponential_", "geometric_", "bernoulli_", "random_")
def fills():
    for t in layouts():
        yield (t,)
        yield t, 0.5
    for d in "f2", "bf", "f8", "i8", "b", "c4":
        yield (T(3, 4, d=d),)
        yield T(3, 4, d=d), 0.5
        yield [T(3, 4, d=d), 0.5], {"generator": None}


@rule("bernoulli", "poisson")
def each():
    for t in layouts():
        yield (t,)
    for d in "f2", "bf", "f8", "i8", "b":
        yield (T(3, 4, d=d),)
        yield [T(3, 4, d=d)], {"generator": None}


@rule("multinomial")
def multinomial():
    for shape in (4,), (3, 4), (1, 4), (2, 3, 4):
        for l in "c", "t":
            for d in "f4", "f8":
                yield T(*shape, d=d, l=l), 2
                yield T(*shape, d=d, l=l), 6, True
                yield T(*shape, d=d, l=l), 6


@rule("attribute_T")
def attribute_t():
    for t in layouts():
        yield t, "T"


@rule("attribute_mT")
def attribute_mt():
    for t in layouts():
        yield t, "mT"


@rule("squeeze_", "t_")
def squeezed():
    for t in layouts():
        yield (t,)
    for shape in (1, 3), (2, 1), (1, 1), (1,), ():
        yield (T(*shape),)


@rule("unsqueeze_")
def unsqueezed():
    for t in layouts():
        for dim in 0, -1, 1, 7:
            yield t, dim


@rule("transpose_")
def transposed():
    for t in layouts():
        for pair in (0, 1), (0, -1), (1, 2), (0, 7):
            yield t, *pair


@rule("stft")
def stft():
    for shape in (2, 400), (400,), (1, 64), (2, 3, 400), (20,):
        for d in "f4", "f8", "c4":
            for options in (
                {},
                {"center": False},
                {"window": T(64, d=d)},
                {"normalized": True, "onesided": False},
                {"window": T(32, d=d), "win_length": 32, "pad_mode": "constant"},
            ):
                yield [T(*shape, d=d), 64], {"return_complex": True, **options}
                yield [T(*shape, d=d), 64, 10], {"return_complex": True, **options}
    yield [T(2, 400), 64], {"return_complex": False}
    yield [T(2, 400), 63, 7], {"return_complex": True}
    yield [T(400, 2, l="t"), 63, 7], {"return_complex": True}


@rule("istft")
def istft():
    for shape in (2, 33, 9), (33, 9), (1, 33, 1), (2, 64, 9), (20, 9), (2, 2, 33, 9), (2, 33, 0):
        for d in "c4", "c8", "f4":
            w = {"c4": "f4", "c8": "f8", "f4": "f4"}[d]
            for options in (
                {},
                {"center": False, "window": T(64, d=w, v=[1.0] * 64)},
                {"length": 100},
                {"length": 1000},
                {"length": 0},
                {"window": T(32, d=w, v=[1.0] * 32), "win_length": 32},
                {"window": T(32, d=w, v=[1.0] * 32)},
                {"normalized": True, "onesided": False},
                {"return_complex": True},
            ):
                yield [T(*shape, d=d), 64], options
                yield [T(*shape, d=d), 64, 10], options
    yield [T(2, 32, 9, d="c4"), 63, 7], {}
    yield [T(2, 33, 9, d="c4"), 64, 65], {}


@rule("quantize_per_tensor")
def quantize_per_tensor():
    for t in layouts():
        yield t, 0.1, 3, torch.quint8
        yield t, 0.1, -3, torch.qint8
    yield T(2, 3, d="f8"), 0.1, 0, torch.qint8
    yield T(2, 3), 0.1, 300, torch.quint8


@rule("dequantize", "int_repr")
def of_quantized_tensors():
    for d in "qi8", "qu8", "qi4":
        for t in layouts(d):
            yield (t,)
