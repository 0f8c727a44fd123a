"""Cases of factories, conversions and queries."""

import torch
from elementwise import ALL, layouts
from spec import DEVICE, DTYPES, TABLE, T, rule


@rule("zeros", "ones", "empty", "rand", "randn")
def zeros():
    for s in (), (3,), (2, 3), (0, 2), (-1, 2), (2, 1, 3):
        yield (s,)
        yield s
        yield [list(s)], {}
        for d in "f8", "i8", "b", "bf", "c4":
            yield [s], {"dtype": DTYPES[d]}
            yield [s], {"dtype": DTYPES[d], "requires_grad": True}
        yield [s], {"device": str(DEVICE), "requires_grad": True}
        yield [s], {"device": DEVICE}
        yield [s], {"layout": torch.strided}
        yield [], {"size": s}


@rule("Tensor", "FloatTensor", "DoubleTensor", "LongTensor", "BoolTensor")
def legacy():
    yield ()
    yield (2,)
    yield 2, 3
    yield 2, -1
    yield 0, 2
    for data in [], [1, 2], [[1, 2.5], [0, True]], (1, 2), [[], []], [[1], 2], [[[1]], [[2]]]:
        yield (data,)


@rule("full")
def full():
    for s in (), (2, 3):
        for v in 1, 1.5, True, 1j:
            yield s, v
            yield [s, v], {"dtype": torch.float64}
            yield [s], {"fill_value": v}


@rule("randint")
def randint():
    yield 5, (2, 3)
    yield 1, 5, (2,)
    yield 5, 5, (2,)
    yield [5, (2, 3)], {"device": str(DEVICE)}
    yield [5, (2, 3)], {"generator": None, "layout": torch.strided}


@rule("randperm")
def randperm():
    yield (5,)
    yield (0,)
    yield (-1,)
    yield [5], {"generator": None, "pin_memory": False}


@rule("arange")
def arange():
    for a in (
        (5,),
        (0,),
        (1, 5),
        (1, 6, 2),
        (5, 1),
        (5, 1, -2),
        (5.0,),
        (0, 1, 0.1),
        (0.0, 2, 0.3),
        (1, 1),
        (3, 10, 0),
        (2.5,),
        (-3,),
        (7, 0, -3),
        (10, 0, -3),
    ):
        yield a
        for d in "f4", "f8", "i4", "bf":
            yield [*a], {"dtype": DTYPES[d]}
        yield [*a], {"device": str(DEVICE)}
    yield [], {"end": 5}
    yield [], {"start": 1, "end": 5, "step": 2}
    yield [1], {"end": 5}


@rule("linspace")
def linspace():
    yield 0, 1, 5
    yield [0.0, 1], {"steps": 7}
    yield [0.0, 1, 3], {"dtype": torch.float64}
    yield 0, 1, -1


@rule("hann_window", "hamming_window", "blackman_window", "bartlett_window", "kaiser_window")
def windows():
    for length in 0, 1, 5, -1:
        yield (length,)
    yield 4, False
    yield [], {"window_length": 6, "periodic": False}
    for dtype in torch.float64, torch.bfloat16, torch.int64, torch.complex64:
        yield [5], {"dtype": dtype}
    yield [5], {"requires_grad": True}
    yield [5], {"device": str(DEVICE)}
    yield [5, True], {"beta": 0.5}
    yield [5, True], {"alpha": 0.5, "beta": 0.5}


@rule("eye")
def eye():
    yield (3,)
    yield 3, 4
    yield [2], {"dtype": torch.int64}
    yield 0, 3
    yield 3, 0
    yield (-1,)


@rule("zeros_like", "ones_like", "empty_like", "rand_like")
def like():
    for t in layouts():
        yield (t,)
        yield [t], {"dtype": torch.float64}
        yield [t], {"memory_format": torch.contiguous_format}
        yield [t], {"memory_format": torch.channels_last}
        yield [t], {"requires_grad": True}
    for d in ALL:
        yield (T(2, 3, d=d),)


@rule("full_like")
def full_like():
    for t in layouts():
        yield t, 1.5
        yield [t, 0], {"dtype": torch.int64}


@rule("new_zeros")
def new_zeros():
    for d in "f4", "i8", "c4":
        for s in (), (2, 3), (0,):
            yield T(4, 5, d=d, l="t"), s
            yield T(4, 5, d=d), *s
            yield [T(4, d=d), s], {"dtype": torch.float64}
            yield [T(4, d=d), s], {"requires_grad": True}
            yield [T(4, d=d)], {"size": s}
    yield T(3), (-1,)


@rule("new_full")
def new_full():
    for d in "f4", "i8":
        yield T(4, 5, d=d), (2, 3), 1.5
        yield T(4, 5, d=d), (), 2
        yield [T(4, 5, d=d), (2,), 2], {"dtype": torch.bool}


DATA = [
    1,
    1.5,
    True,
    1j,
    [],
    [1, 2],
    [1, 2.5],
    [True, 1],
    [[1, 2], [3, 4]],
    [[1.0], [2.0]],
    (1, 2),
    [[]],
    [[], []],
    [[1], [2, 3]],
    [[1, 2], 3],
    [True, 1.5],
    [1, 1j],
]


ELEMENTS = [
    ["float32", "float32"],
    ["int64", "float64"],
    ["bfloat16", "float16"],
    ["int8", "int8"],
    ["bool", 1],
    [2, "bool"],
    ["int32", 1.5],
    ["complex64", 1.5],
    [["float32", 1], ["int64", 2]],
]


def number(x):
    """A tensor without dimensions for the name of a dtype."""
    if isinstance(x, list):
        return [number(item) for item in x]
    return torch.ones((), dtype=getattr(torch, x)) if isinstance(x, str) else x


@rule("tensor", "as_tensor")
def tensor():
    for d in DATA:
        yield (d,)
        yield [d], {"device": str(DEVICE)}
        yield [d], {"dtype": torch.float64}
        yield [d], {"dtype": torch.int32}
    yield [1.5], {"requires_grad": True}
    yield [1], {"requires_grad": True}
    for d in ELEMENTS:
        for dtype in (None, torch.float32, torch.float16, torch.int64, torch.int32, torch.bool):
            yield [[number(x) for x in d]], {"dtype": dtype}


def as_tensor():
    yield from (
        c
        for c in tensor()
        if not (
            isinstance(c[1:], tuple)
            and len(c) == 2
            and isinstance(c[1], dict)
            and "requires_grad" in c[1]
        )
    )
    for t in layouts():
        yield (t,)
        yield [t], {"dtype": torch.float64}
        yield [t], {"dtype": torch.float32}


TABLE["as_tensor"] = as_tensor


@rule("to")
def to():
    for t in layouts():
        yield t, torch.float32
        yield t, torch.float64
        yield t, "cpu"
        yield t, DEVICE, torch.float16
        yield t, T(2, d="f8")
        yield [t], {"dtype": torch.float32, "copy": True}
        yield [t, "cpu"], {"non_blocking": True}
        yield [t], {"memory_format": torch.channels_last}
        yield [t], {"memory_format": torch.contiguous_format}
        yield [t, torch.float64], {"memory_format": torch.contiguous_format}
        yield t, torch.float32, False, True
        yield t, torch.int64
    for a in ALL:
        for b in ALL:
            yield T(2, 3, d=a), DTYPES[b]


@rule("float", "double", "half", "bfloat16", "long", "int", "short", "bool", "cpu")
def casts():
    for t in layouts():
        yield (t,)
    for d in ALL:
        yield (T(2, 3, d=d),)
        yield (T(2, 3, d=d, l="el"),)


@rule("type_as")
def type_as():
    for t in layouts():
        yield t, T(2, d="f8")
        yield t, T(2)


@rule("type")
def type_():
    for d in ALL:
        yield (T(2, d=d),)
        yield T(2, d=d), torch.float32
        yield [T(2, d=d)], {"dtype": torch.float64}


@rule("clone")
def clone():
    for t in layouts():
        yield (t,)
        yield [t], {"memory_format": torch.contiguous_format}
        yield [t], {"memory_format": torch.channels_last}


@rule("size", "stride")
def size():
    for t in layouts():
        yield (t,)
        yield t, 0
        yield t, -1
        yield t, 2


@rule("dim", "numel", "is_floating_point", "is_complex", "element_size", "storage_offset")
def queries():
    for t in layouts():
        yield (t,)
    for d in ALL:
        yield (T(2, d=d),)


@rule("is_contiguous")
def is_contiguous():
    for t in layouts():
        yield (t,)
        yield [t], {"memory_format": torch.channels_last}
        yield [t], {"memory_format": torch.channels_last_3d}


@rule("result_type")
def result_type():
    from elementwise import mixed, numbers

    for a, b in list(mixed()) + list(numbers()):
        yield a, b


@rule("logspace")
def logspace():
    for steps in 0, 1, 5, -1:
        yield 0, 1, steps
        yield 0.5, 2.0, steps, 2.0
        yield [0, 1], {"steps": steps, "dtype": torch.float64}
        yield [0, 1], {"steps": steps, "dtype": torch.int64}


@rule("tril_indices", "triu_indices")
def triangle_indices():
    for rows, columns in (3, 3), (2, 4), (4, 2), (0, 3), (3, 0), (1, 1), (-1, 2):
        yield rows, columns
        for offset in -5, -1, 0, 1, 2, 5:
            yield rows, columns, offset
            yield [rows, columns], {"offset": offset, "dtype": torch.int32, "device": str(DEVICE)}


@rule("_shape_as_tensor")
def shape_as_tensor():
    for shape in (), (3,), (2, 0, 4):
        yield (torch.ones(shape),)
        yield (torch.ones(shape, requires_grad=True),)


@rule("empty_strided")
def empty_strided():
    for shape, strides in (
        ((2, 3), (3, 1)),
        ((2, 3), (1, 2)),
        ((), ()),
        ((2,), (0,)),
        ((2,), (1, 1)),
    ):
        yield shape, strides
        yield [shape, strides], {"dtype": torch.int64}
    yield (2, 3), (-1, 1)


@rule("scalar_tensor")
def scalar_tensor():
    for value in 1, 1.5, True, 1j:
        yield (value,)
        yield [value], {"dtype": torch.int64}
        yield [value], {"dtype": torch.float64, "device": str(DEVICE)}


@rule("randint_like")
def randint_like():
    for t in layouts():
        yield t, 5
        yield t, 1, 5
        yield [t, 5], {"dtype": torch.int64}
    for d in ALL:
        yield T(3, 4, d=d), 5
    yield T(3), 5, 5
    yield [T(3)], {"high": 4}


@rule("new_tensor")
def new_tensor():
    for t in T(2), T(2, d="f8"), T(2, d="i8"), T(2, d="b"), T(2, d="c4"):
        for data in 1, 2.5, True, [1, 2], [[1.5], [2]], [], [[1], [2, 3]], 1j:
            yield t, data
            yield [t, data], {"dtype": torch.float64}
