"""Cases of views."""

import torch
from elementwise import layouts
from spec import TABLE, T, rule


def each(*rest):
    for t in layouts():
        for r in rest:
            yield (t, *r)
    yield (T(2, 3, d="i8"), *rest[0])
    yield (T(2, 3, d="c4"), *rest[0])


SIZES = [
    (-1,),
    (2, -1),
    (6, 20),
    (2, 60),
    (120,),
    (2, 3, 20),
    (6, 4, 5),
    (1, -1),
    (12,),
    (4, 3),
    (3, 4),
    (0,),
    (0, -1),
    (-1, -1),
    (24, 5),
    (2, 12, 5),
    (2, 3, 2, 2, 5),
    (1, 1),
    (1,),
    (),
    (2, 3, 4, 1, 5),
    (5, 3),
    (-2, 3),
    (0, 5),
    (3, 0),
    (1, 3),
    (3, 1, 1),
]


@rule("view", "reshape", "reshape_function")
def view():
    yield from each(*[(s,) for s in SIZES], *SIZES[:4])
    yield T(2, 3), torch.float32


@rule("view_as", "reshape_as")
def view_as():
    yield from each(*[(T(*s),) for s in SIZES if -1 not in s and -2 not in s])


@rule("flatten")
def flatten():
    yield from each((), (1,), (2,), (0, 1), (1, 2), (-2,), (-3, -2), (2, 1), (7,), (0, 0))
    yield [T(2, 3, 4)], {"start_dim": 1}


@rule("ravel", "t", "T", "detach", "mT")
def nullary():
    yield from each(())


@rule("unflatten")
def unflatten():
    yield from each(
        (-1, (1, -1)),
        (0, (2, 1)),
        (1, (3, 1)),
        (2, (2, 2)),
        (2, (-1, 2)),
        (1, (2, 2)),
        (5, (1,)),
        (-1, ()),
    )


@rule("permute", "permute_function")
def permute():
    yield from each(
        ((0,),),
        ((1, 0),),
        ((0, 1, 2),),
        ((2, 0, 1),),
        ((0, 2, 3, 1),),
        (0, 3, 1, 2),
        ((-1, 0, 1, 2),),
        ((0, 0, 1, 2),),
        ((),),
        ((3, 1, 2, 0, 4),),
    )
    yield [T(2, 3, 4)], {"dims": (2, 0, 1)}


@rule("transpose", "swapaxes", "swapdims")
def transpose():
    yield from each((0, 1), (-1, -2), (1, 2), (0, 0), (0, -1), (1, 3), (5, 0))


@rule("movedim")
def movedim():
    yield from each(
        (0, 1), (-1, 0), ((0, 1), (1, 0)), ((0, 1), (-1, -2)), ((0, 0), (1, 2)), ((0,), (1, 2))
    )


@rule("expand")
def expand():
    for t in layouts():
        for s in (
            (3, 4),
            (2, 3, 4, 5),
            (-1, -1),
            (2, -1, -1, -1),
            (7, 2, 3, 4, 5),
            (2, 2, 3),
            (1, 3, 3, 5),
            (2, 3, 4, 4),
            (3,),
            (1, 1, 1),
            (2, 2, 3, 4, 5),
            (0, 3),
        ):
            yield t, s
            yield t, *s
    yield T(1, 3, 1), (2, 3, 4)
    yield T(1, 3, 1), (-1, 3, 4)
    yield T(1), (1, 1, 4, 1)
    yield T(), (2, 1)
    yield T(), (1, 1)


TABLE["broadcast_to"] = expand


@rule("broadcast_to_function")
def broadcast_to_function():
    for args in expand():
        if isinstance(args[1], tuple):
            yield args
    yield T(3), 2, 3


def expand_as():
    for t, s in [args for args in broadcast_to_function() if isinstance(args[1], tuple)]:
        if min(s, default=0) >= 0:
            yield t, T(*s)


TABLE["expand_as"] = expand_as


@rule("squeeze")
def squeeze():
    yield from each((), (0,), (1,), (-1,), ((1, 2),), ((0, 0),), (4,))


@rule("unsqueeze")
def unsqueeze():
    yield from each((0,), (1,), (-1,), (-2,), (4,), (7,))


@rule("narrow")
def narrow():
    yield from each((0, 0, 1), (1, 1, 2), (-1, 1, 1), (-1, -2, 2), (0, 0, 0), (1, 2, 5))


@rule("select")
def select():
    yield from each((0, 0), (1, 1), (-1, -1), (2, 2), (0, 9))


@rule("unbind")
def unbind():
    yield from each((), (1,), (-1,), (3,))


@rule("split", "split_function")
def split():
    yield from each(
        (2,),
        (3, 1),
        (1, -1),
        ([1, 1],),
        ([1, 2], 1),
        ([2, 2, 0], 2),
        (0,),
        ((1, 3), 1),
        (10, -1),
        (2, 2),
    )
    yield [T(4, 6), 2], {"dim": 1}


@rule("split_with_sizes")
def split_with_sizes():
    yield from each(([1, 1],), ([1, 2], 1), ([2, 2, 0], 2), ((1, 3), 1))


@rule("chunk")
def chunk():
    yield from each((2,), (3, 1), (4, -1), (0,), (7, 2), (2, 1))


@rule("tensor_split")
def tensor_split():
    yield from each(
        (2,), (3, 1), (4, -1), ([1, 2],), ([1, 3], 2), ((1,), -1), ([3, 1], 1), ([-1], 1), (0,)
    )


@rule("diagonal")
def diagonal():
    yield from each((), (1,), (-1,), (0, -2, -1), (0, 1, 2), (9,), (0, 0, 0))


@rule("unfold")
def unfold():
    yield from each((0, 1, 1), (1, 2, 1), (-1, 2, 2), (-1, 9, 1), (2, 3, 1))


@rule("as_strided")
def as_strided():
    yield from each(
        ((2, 2), (1, 1)), ((2, 2), (2, 1), 1), ((1,), (1,)), ((0, 3), (1, 1)), ((2, 2), (1,))
    )


@rule("contiguous")
def contiguous():
    yield from each(())
    for t in layouts():
        for f in (
            torch.contiguous_format,
            torch.channels_last,
            torch.channels_last_3d,
            torch.preserve_format,
        ):
            yield [t], {"memory_format": f}


@rule("hsplit", "vsplit", "dsplit")
def split_along():
    for t in layouts():
        for sections in 1, 2, 3, (1, 2), (0,), 0, -1:
            yield t, sections
    for d in "i8", "c4":
        yield T(4, 4, 4, d=d), 2


@rule("broadcast_tensors")
def broadcast_tensors():
    for t in layouts():
        yield t, T(1)
        yield (t,)
    for d in "f4", "i8":
        yield T(2, 3, d=d), T(3, 2)
        yield T(2, 1, d=d), T(3)
        yield T(2, 1, d=d), T(3), T(4, 1, 1)
        yield T(d=d), T(2, 1, d=d, l="t"), T(1, 3, l="e")


@rule("column_stack", "dstack")
def stacked():
    for t in layouts():
        yield ([t],)
        yield ([t, t],)
        yield ((t, t, t),)
    for d in "i8", "b", "bf":
        yield ([T(3, d=d), T(3, 2, d=d)],)
        yield ([T(2, 3, d=d), T(2, 3, 4, d=d)],)
        yield ([T(2, 3), T(2, 3, d=d)],)
    yield ([T(3), T(4)],)
    yield ([],)


@rule("pad_sequence")
def pad_sequence():
    for t in layouts():
        yield ([t],)
        yield [t, t], True
    for d in "f4", "i8", "bf", "b":
        yield ([T(3, 2, d=d), T(5, 2, d=d)],)
        yield [T(3, 2, d=d), T(5, 2, d=d), T(4, 2, d=d)], True, 2.0, "left"
        yield ([T(3, d=d), T(0, d=d)],)
        yield ([T(3), T(3, d=d)],)
    yield ([T(3, 2), T(4, 1)],)
    yield ([T(3, 1), T(4, 2)],)
    yield ([T(3), T(4, 2)],)
    yield [T(3), T(4)], False, 0.0, "middle"
    yield ([T()],)
    yield ([],)


@rule("cartesian_prod")
def cartesian_prod():
    for d in "f4", "i8":
        yield T(2, d=d), T(3, d=d)
        yield T(2, d=d), T(3, d=d), T(4, d=d)
        yield (T(2, d=d),)
        yield T(2, d=d), T(3, 1, d=d)
        yield T(2, d=d), T(0, d=d)
    yield T(2), T(3, d="i8")


@rule("rot90")
def rot90():
    for t in layouts():
        yield (t,)
        for k in -1, 0, 1, 2, 3, 4:
            yield t, k, (0, 1)
            yield t, k, [-1, 0]
    yield T(2, 3), 1, (0, 0)
    yield T(2, 3), 1, (0,)
    yield [T(2, 3)], {"k": 1, "dims": (1, 0)}


@rule("diagflat")
def diagflat():
    for t in layouts():
        yield (t,)
    for t in T(3), T(2, 2), T(), T(0), T(3, d="i8"), T(3, d="b"):
        for offset in -2, 0, 1:
            yield t, offset
