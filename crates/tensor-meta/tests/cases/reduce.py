"""Cases of reductions, scans, softmax and sorting."""

import torch
from elementwise import ALL, layouts
from spec import T, rule


def each(*rest, dtypes=ALL):
    for t in layouts():
        for r in rest:
            if isinstance(r, dict):
                yield [t], r
            else:
                yield (t, *r)
    for d in dtypes:
        for r in rest[:2]:
            if isinstance(r, dict):
                yield [T(2, 3, d=d)], r
            else:
                yield (T(2, 3, d=d), *r)


DIMS = [
    (),
    (1,),
    (0,),
    (-1, True),
    ((0, 1),),
    ((1, -1), True),
    ((),),
    ((0, 0),),
    {"dim": 1, "keepdim": True},
    {"dim": (2, 3)},
    {"axis": 0},
]


@rule("sum", "mean", "nansum")
def sums():
    yield from each(*DIMS)
    for d in ALL:
        yield [T(2, 3, d=d)], {"dtype": torch.float64}
        yield [T(2, 3, d=d), 0], {"dtype": torch.int32}
        yield [T(2, 3, d=d), 0], {"dtype": torch.float32}


@rule("prod")
def prod():
    yield from each((), (1,), (0,), (-1, True), {"dim": 1, "keepdim": True})
    for d in ALL:
        yield [T(2, 3, d=d)], {"dtype": torch.float64}


@rule("amax", "amin", "all", "any")
def amax():
    yield from each(*DIMS)


@rule("_is_all_true", "_is_any_true")
def is_all_true():
    yield (T(2, 3),)
    for shape in (), (3,), (0,), (2, 3), (2, 1, 4):
        yield (T(*shape, d="b"),)


@rule("assert_async")
def assert_async():
    for value in True, [True], [[1.5]]:
        yield (T(v=value),)
        yield T(v=value), "message"
    for shape in (2,), (0,):
        yield (T(*shape),)


@rule("argmax", "argmin", "max", "min")
def argmax():
    yield from each(
        (), (1,), (0,), (-1,), (-1, True), (0, False), {"dim": 2, "keepdim": True}, {"dim": 5}
    )


@rule("aminmax")
def aminmax():
    yield from each({}, {"dim": 1}, {"dim": 0, "keepdim": True})


@rule("var", "std", "var_mean", "std_mean")
def var():
    yield from each(
        (),
        (1,),
        (False,),
        (0, False),
        ((0, 1), True, True),
        (-1, True),
        {"dim": 1, "keepdim": True},
        {"dim": -1, "unbiased": False},
        {"dim": 1, "correction": 0},
        {"correction": 2},
    )


@rule("logsumexp")
def logsumexp():
    yield from each((1,), (0, True), ((0, 1),), {"dim": -1, "keepdim": True})


@rule("norm")
def norm():
    yield from each(
        (),
        (2,),
        (1, 1),
        (2, -1, True),
        ("fro",),
        (float("inf"), 1),
        {"dim": 1, "keepdim": True},
        {"dim": (0, 1)},
        {"p": 2, "dim": -1, "keepdim": True},
    )


@rule("vector_norm")
def vector_norm():
    yield from each((), (2,), (1, 1), (2, -1, True), {"dim": 1, "keepdim": True}, {"dim": (0, 1)})


@rule("linalg_norm")
def linalg_norm():
    yield from each(
        (),
        (None,),
        (2, -1),
        (None, 1, True),
        (2, (0,)),
        ("fro", (0, 1)),
        (float("inf"), 0),
        {"ord": 2, "dim": -1, "keepdim": True},
        {"dim": (0, 1)},
        {"ord": 1, "dim": (0, 1)},
    )


@rule("count_nonzero", "median")
def count_nonzero():
    yield from each((), (1,), (-1,), {"dim": 0})


@rule("cumsum", "cumprod")
def cumsum():
    yield from each((0,), (1,), (-1,), {"dim": 2}, (9,))
    for d in ALL:
        yield [T(2, 3, d=d), 0], {"dtype": torch.float64}
        yield [T(2, 3, d=d, l="t"), 1], {"dtype": torch.int32}


@rule("cummax", "cummin", "logcumsumexp")
def cummax():
    yield from each((0,), (1,), (-1,), {"dim": 2}, (9,))


@rule("softmax", "log_softmax")
def softmax():
    yield from each((0,), (1,), (-1,), {"dim": 2}, (9,))
    for d in ALL:
        yield [T(2, 3, d=d), 0], {"dtype": torch.float32}
        yield [T(2, 3, d=d, l="t"), 1], {"dtype": torch.float64}


@rule("softmax_nn", "log_softmax_nn")
def softmax_nn():
    yield from softmax()
    yield T(2, 3), -1, 3, torch.float64


@rule("sort", "argsort")
def sort():
    yield from each(
        (),
        (0,),
        (1,),
        (-1, True),
        {"descending": True},
        {"dim": 1, "descending": True},
        {"stable": True},
        {"dim": 0, "stable": True},
        (7,),
    )


@rule("topk")
def topk():
    yield from each(
        (1,),
        (2,),
        (2, 1),
        (3, -2),
        (2, 0, False),
        {"k": 2, "dim": 1},
        (9,),
        {"k": 2, "sorted": False},
    )


@rule("kthvalue")
def kthvalue():
    yield from each((1,), (2,), (2, 1), (2, 0, True))


@rule("nanmedian")
def nanmedian():
    for t in layouts():
        for rest in (), (0,), (-1, True), (5,):
            yield t, *rest
    for d in ALL:
        yield T(3, 4, d=d), 1


@rule("nanmean")
def nanmean():
    for t in layouts():
        for rest in (), (0,), (-1, True), ((0, 1),), (5,):
            yield t, *rest
    for d in ALL:
        yield T(3, 4, d=d), 1


@rule("quantile")
def quantile():
    for t in layouts():
        yield t, 0.5
        for rest in (0,), (-1, True), (1,), (5,), (None, True):
            yield t, 0.25, *rest
    for d in ALL:
        yield T(3, 4, d=d), 0.5, 1
    yield T(3, 4), 1.5
    yield [T(3, 4), 0.5], {"dim": 0, "interpolation": "linear"}
    yield [T(3, 4), 0.5], {"dim": 0, "interpolation": "nearest"}
    yield T(3, 4), T(2), 1


@rule("msort")
def msort():
    for t in layouts():
        yield (t,)
    for d in ALL:
        yield (T(3, 4, d=d),)
