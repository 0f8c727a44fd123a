"""Cases of convolutions, pooling, resampling, normalisation, embeddings and losses."""

from spec import TABLE, T, rule

SPACE = {1: (9,), 2: (9, 8), 3: (5, 6, 7)}


def inputs(n, c=4, b=2):
    for l in ("c", "cl", "t", "p", "r", "s", "o", "h"):
        if l == "cl" and n == 1:
            continue
        yield T(b, c, *SPACE[n], l=l)
    yield T(1, c, *SPACE[n], l="cl" if n > 1 else "t")
    yield T(b, 1, *SPACE[n], l="cl" if n > 1 else "t")
    yield T(1, c, *SPACE[n])
    yield T(b, c, *SPACE[n], d="f8", l="cl" if n > 1 else "c")
    yield T(b, c, *SPACE[n], d="bf")
    yield T(b, c, *([4] * n), l="t")
    yield T(b, c, *([1] * n))
    yield T(b, c, *([1] * n), l="cl" if n > 1 else "c")
    yield T(c, *SPACE[n])
    yield T(b, c, *SPACE[n], d="i8")


def conv(n):
    for x in inputs(n):
        c = x.shape[1] if len(x.shape) == n + 2 else x.shape[0]
        ws = [T(6, c, *([3] * n), d=x.d), T(6, c, *([1] * n), d=x.d), T(c, 1, *([3] * n), d=x.d)]
        if n > 1:
            ws.append(T(6, c, *([3] * n), d=x.d, l="cl"))
        for w in ws[:2] + ws[3:]:
            yield x, w
            yield x, w, T(6, d=x.d), 2, 1
        yield [x, ws[0]], {"padding": "same"}
        yield [x, ws[0], None], {"padding": "valid", "dilation": 2}
        yield [x, ws[2], T(c, d=x.d)], {"groups": c, "padding": 1}
        yield x, ws[0], None, tuple([2] * n), tuple([1] * n), tuple([2] * n), 1
        yield x, T(6, c + 1, *([3] * n), d=x.d)
        yield x, ws[0], T(5, d=x.d)
        yield x, T(2, c, *([12] * n), d=x.d)
    yield T(2, 4, *SPACE[n]), T(6, 4, *([3] * n), d="f8")


for _n in 1, 2, 3:
    TABLE[f"conv{_n}d"] = lambda n=_n: conv(n)


def conv_transpose(n):
    for x in inputs(n):
        c = x.shape[1] if len(x.shape) == n + 2 else x.shape[0]
        w = T(c, 6, *([3] * n), d=x.d)
        yield x, w
        yield x, w, T(6, d=x.d), 2, 1, 1
        yield [x, T(c, 1, *([2] * n), d=x.d)], {"groups": c, "stride": 2}
        if n > 1:
            yield [x, w.but(l="cl")], {"stride": 2, "dilation": 2}
        yield x, T(c + 1, 6, *([3] * n), d=x.d)


for _n in 1, 2, 3:
    TABLE[f"conv_transpose{_n}d"] = lambda n=_n: conv_transpose(n)


def max_pool(n):
    for x in inputs(n):
        yield x, 2
        yield x, 3, 2, 1
        yield x, tuple([2] * n), None, 0, 1, True
        yield [x], {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True}
        yield [x], {"kernel_size": 2, "return_indices": True}
        yield x, 2, 1, 0, 2
        yield x, 2, 2, 2


for _n in 1, 2, 3:
    TABLE[f"max_pool{_n}d"] = lambda n=_n: max_pool(n)


def avg_pool(n):
    for x in inputs(n):
        yield x, 2
        yield x, 3, 2, 1
        yield x, tuple([2] * n), None, 0, True
        yield (
            [x],
            {
                "kernel_size": 3,
                "stride": 2,
                "padding": 1,
                "ceil_mode": True,
                "count_include_pad": False,
            },
        )
        yield x, 20


for _n in 1, 2, 3:
    TABLE[f"avg_pool{_n}d"] = lambda n=_n: avg_pool(n)


@rule("lp_pool2d")
def lp_pool2d():
    for x in inputs(2):
        yield x, 2.0, 2
        yield x, 1, 3, 2, True


def adaptive(n, indices):
    for x in inputs(n):
        yield x, 1
        yield x, 3
        yield x, tuple([2] * n)
        yield x, tuple([None] + [3] * (n - 1))
        yield x, tuple([1] * n)
        if indices:
            yield x, 2, True


for _n in 1, 2, 3:
    TABLE[f"adaptive_avg_pool{_n}d"] = lambda n=_n: adaptive(n, False)
    TABLE[f"adaptive_max_pool{_n}d"] = lambda n=_n: adaptive(n, True)


@rule("interpolate")
def interpolate():
    for n in 1, 2, 3:
        for x in inputs(n):
            yield [x], {"scale_factor": 2}
            yield [x], {"size": 5}
            yield [x], {"size": tuple([7] * n), "mode": "nearest-exact"}
            yield (
                [x],
                {
                    "scale_factor": 0.5,
                    "mode": ["", "linear", "bilinear", "trilinear"][n],
                    "align_corners": False,
                },
            )
            yield (
                [x],
                {
                    "scale_factor": tuple([1.3] * n),
                    "mode": ["", "linear", "bicubic", "trilinear"][n],
                },
            )
            yield [x], {"scale_factor": 2.0, "mode": "area"}
            yield [x], {"scale_factor": 2.0, "align_corners": True}
            yield [x], {"scale_factor": 1.7, "recompute_scale_factor": True}
            yield [x], {"size": 5, "recompute_scale_factor": True}
            for mode in "bilinear", "bicubic", "nearest":
                yield [x], {"size": 5, "mode": mode, "antialias": True}


@rule("pad")
def pad():
    for n in 1, 2, 3:
        for x in inputs(n):
            for p in (
                (1, 2),
                (0, 0),
                (1, 1, 2, 0),
                (0, 1, 0, 0),
                (-1, 0),
                (-1, 1),
                (0, 0, 0, 0, 1, 1),
                (1,),
                (-2, -1, -1, 0),
            ):
                yield x, p
                yield x, p, "constant", 1.0
            yield [x], {"pad": tuple([1, 1] * n), "mode": "reflect"}
            yield [x], {"pad": tuple([1, 2] * n), "mode": "replicate"}
            yield [x], {"pad": tuple([1, 1] * n), "mode": "circular"}
    for d in "i8", "b", "f2":
        yield T(2, 3, d=d), (1, 1)
    yield T(2, 0), (1, 1)
    yield T(3), (1, 1)


@rule("grid_sample")
def grid_sample():
    for l in "c", "cl":
        for m in "bilinear", "nearest":
            yield [T(2, 3, 4, 5, l=l), T(2, 6, 7, 2)], {"mode": m, "align_corners": False}
    yield [T(2, 3, 4, 5), T(1, 6, 7, 2)], {"align_corners": False}


@rule("pixel_shuffle", "pixel_unshuffle")
def pixel_shuffle():
    for l in "c", "cl":
        yield T(2, 8, 4, 6, l=l), 2
    yield T(8, 4, 6), 2
    yield T(3, 4, 6), 2
    yield T(2, 2, 8, 4, 6), 2
    yield T(2, 8, 3, 6), 2


@rule("layer_norm", "layer_norm_torch", "rms_norm")
def layer_norm():
    for l in "c", "t", "r", "p", "s", "e", "h":
        for shape in (3, 4), (2, 3, 4), (2, 3, 4, 5):
            x = T(*shape, l=l)
            n = shape[-1]
            yield x, (n,)
            yield x, (n,), T(n)
            yield [x, (n,), T(n)], {"eps": 1e-6}
            yield x, shape[-2:]
            yield x, (n + 1,)
            yield x, [n], T(n + 1)
    for d in "f8", "bf", "f2", "i8":
        yield T(3, 4, d=d), (4,), T(4, d=d)
        yield T(3, 4, d=d), (4,), T(4)
        yield T(2, 3, 4, d=d, l="p"), (4,), T(4)
        yield T(2, 3, 4, d=d), (3, 4), T(3, 4)


def with_bias():
    for args in layer_norm():
        yield args
        if not isinstance(args[-1], dict) and len(args) == 3:
            yield *args, args[2]


TABLE["layer_norm"] = TABLE["layer_norm_torch"] = with_bias


@rule("group_norm")
def group_norm():
    for n in 1, 2, 3:
        for x in inputs(n):
            c = x.shape[1]
            yield x, 1
            yield x, 2, T(c, d=x.d), T(c, d=x.d)
            yield x, 3
    yield T(4, 6), 2
    yield T(4, 6), 2, T(6), T(6)
    for d in "bf", "f2":
        for x in T(2, 6, 4, d=d), T(2, 6, 4, 5, d=d, l="cl"), T(2, 6, 4, d=d, l="t"):
            yield x, 2, T(6), T(6)
            yield x, 2, T(6), T(6, d=d)
            yield x, 2, T(6)


@rule("batch_norm")
def batch_norm():
    for n in 1, 2, 3:
        for x in inputs(n):
            c = x.shape[1]
            p = [T(c, d=x.d) for _ in range(4)]
            yield x, p[0].but(rg=0), p[1].but(rg=0), p[2], p[3], False
            yield [x, p[0], p[1]], {"training": False}
            yield [x, None, None, p[2], p[3]], {"training": True}
            yield x, p[0], p[1], None, None, True, 0.1, 1e-3
            yield [x, None, None], {"training": False}
    for l in "c", "t":
        p = [T(4) for _ in range(4)]
        yield T(3, 4, l=l), *p, False
        yield T(3, 4, l=l), *p, True
        yield T(1, 4, l=l), *p, True
        for d in "bf", "f2":
            for x in T(3, 4, d=d), T(3, 4, 5, 6, d=d, l="c" if l == "c" else "cl"):
                yield x, *p, False
                yield x, *p, True
                yield x, p[0], p[1], None, None, True
                yield [x, None, None, p[2], p[3]], {"training": True}
                yield x, p[0], p[1], p[2].but(d=d), p[3].but(d=d), False


@rule("instance_norm")
def instance_norm():
    for n in 1, 2, 3:
        for x in inputs(n):
            c = x.shape[1]
            yield (x,)
            yield [x], {"weight": T(c, d=x.d), "bias": T(c, d=x.d)}


@rule("local_response_norm")
def local_response_norm():
    for n in 1, 2, 3:
        for x in inputs(n):
            yield x, 2
            yield x, 3, 1e-3, 0.5, 2.0


IDS = [(3,), (2, 3), (2, 3, 4), (), (0,), (1, 1)]


@rule("embedding")
def embedding():
    for s in IDS:
        for l in "c", "t":
            for d in "i8", "i4", "f4":
                yield T(*s, d=d, high=5, l=l), T(5, 6)
                yield T(*s, d=d, high=5, l=l), T(5, 6, l=l), 1
    yield [T(3, d="i8", high=5), T(5, 6)], {"padding_idx": -1, "sparse": False}
    yield T(3, d="i8", high=5), T(5, 6), 9
    yield T(3, d="i8", high=5), T(5, 6, d="bf")
    yield T(3, d="i8", high=5), T(5)


@rule("embedding_torch")
def embedding_torch():
    for s in IDS:
        yield T(5, 6), T(*s, d="i8", high=5)
        yield T(5, 6), T(*s, d="i4", high=5), 1


@rule("one_hot")
def one_hot():
    for s in IDS:
        yield T(*s, d="i8", high=5), 7
        yield T(*s, d="i8", high=5), -1
        yield [T(*s, d="i8", high=5, l="t")], {"num_classes": 5}
    yield T(3, d="i4", high=5), 7


def losses(*extra):
    for r in "mean", "sum", "none":
        for a, b in (
            ((3, 4), (3, 4)),
            ((3,), (3,)),
            ((), ()),
            ((2, 3, 4, 5), (2, 3, 4, 5)),
            ((3, 1), (3, 4)),
            ((0, 3), (0, 3)),
            ((3, 4), (3, 5)),
        ):
            yield [T(*a), T(*b)], {"reduction": r}
            yield [T(*a, l="t"), T(*b)], {"reduction": r}
            for e in extra:
                yield [T(*a), T(*b)], {"reduction": r, **e}
        yield [T(3, 4, d="bf"), T(3, 4, d="bf")], {"reduction": r}
        yield [T(3, 4, d="f8"), T(3, 4)], {"reduction": r}
    yield T(3, 4), T(3, 4)


TABLE["mse_loss"] = TABLE["l1_loss"] = losses
TABLE["smooth_l1_loss"] = lambda: losses({"beta": 0.5})
TABLE["huber_loss"] = lambda: losses({"delta": 0.5})
TABLE["binary_cross_entropy"] = lambda: losses({"weight": T(4)})
TABLE["binary_cross_entropy_with_logits"] = lambda: losses({"weight": T(4)}, {"pos_weight": T(4)})
TABLE["kl_div"] = lambda: (
    list(losses({"log_target": True})) + [([T(3, 4), T(3, 4)], {"reduction": "batchmean"})]
)


@rule("cross_entropy", "nll_loss")
def cross_entropy():
    for r in "mean", "sum", "none":
        for s, y in (
            ((3, 5), (3,)),
            ((2, 5, 4), (2, 4)),
            ((2, 5, 4, 3), (2, 4, 3)),
            ((5,), ()),
            ((3, 5), (4,)),
        ):
            for l in "c", "t":
                for d in "i8", "i4", "u1":
                    yield [T(*s, l=l), T(*y, d=d, high=5)], {"reduction": r}
                yield (
                    [T(*s, l=l), T(*y, d="i8", high=5)],
                    {"reduction": r, "ignore_index": 0, "weight": T(5)},
                )
            yield [T(*s), T(*s)], {"reduction": r}
    yield T(3, 5), T(3, d="i8", high=5)
    yield T(3, 5, d="bf"), T(3, d="i8", high=5)


@rule("gru_cell")
def gru_cell():
    yield T(2, 3), T(2, 4), T(12, 3), T(12, 4), T(12), T(12)
    yield T(2, 3), T(2, 4), T(12, 3), T(12, 4)
    yield T(2, 3, l="t"), T(2, 4), T(12, 3), T(12, 4)


@rule("im2col")
def unfold():
    for x in inputs(2):
        yield x, 2
        yield x, (3, 2), 1, 1, 2
        yield [x], {"kernel_size": 2, "dilation": (2, 1), "padding": (1, 0), "stride": (1, 2)}
        yield x, 40
    yield T(3, 6, 7, d="c4"), 2
    yield T(2, 3, 6, 7, l="cl"), 2
    yield T(6, 7), 2


@rule("col2im")
def fold():
    for d in "f4", "f8", "bf", "c4", "i8":
        yield T(2, 12, 12, d=d), (4, 5), 2
        yield T(12, 12, d=d), (4, 5), (2, 2)
    yield [T(2, 12, 6)], {"output_size": (4, 5), "kernel_size": 2, "padding": (1, 0), "stride": 2}
    yield T(2, 12, 12, l="t"), (4, 5), 2
    yield T(2, 12, 11), (4, 5), 2
    yield T(2, 13, 12), (4, 5), 2
    yield T(2, 3, 4, 5), (4, 5), 2


@rule("affine_grid")
def affine_grid():
    for d in "f4", "f8":
        for l in "c", "t":
            yield T(2, 2, 3, d=d, l=l), (2, 3, 4, 5)
            yield [T(2, 2, 3, d=d, l=l), (2, 3, 4, 5)], {"align_corners": True}
            yield T(2, 3, 4, d=d, l=l), [2, 3, 4, 5, 6]
            yield T(2, 2, 3, d=d, l=l), (3, 3, 4, 5)
    yield T(2, 2, 3), (2, 3, 0, 5)


@rule("channel_shuffle")
def channel_shuffle():
    for d in "f4", "f8":
        for l in "c", "cl":
            for groups in 1, 2, 3, 6, 4:
                yield T(2, 6, 4, 5, d=d, l=l), groups
                yield T(1, 6, 1, 1, d=d, l=l), groups
    yield T(2, 6, 4), 2
    yield T(2, 6, 4, 5, l="p"), 2


@rule("max_unpool1d")
def max_unpool1d():
    for x, index in ((2, 3, 4), (2, 3, 4)), ((3, 4), (3, 4)), ((2, 3, 4), (2, 3, 5)):
        yield T(*x), T(*index, d="i8", high=4), 2
        yield T(*x), T(*index, d="i8", high=4), 3, 2
        yield [T(*x, d="f8"), T(*index, d="i8", high=4), 2], {"output_size": (9,)}


@rule("max_unpool2d")
def max_unpool2d():
    for l in "c", "cl":
        x, index = T(2, 3, 4, 4, l=l), T(2, 3, 4, 4, d="i8", high=9)
        yield x, index, 2
        yield x, index, (2, 3)
        yield x, index, 3, 2
        yield x, index, 3, (2, 2), 1
        yield [x, index, 2], {"output_size": (9, 9)}
    yield T(3, 4, 4), T(3, 4, 4, d="i8", high=9), 2
    yield T(2, 3, 4, 4), T(2, 3, 4, 5, d="i8", high=9), 2
    yield T(2, 3, 4, 4), T(2, 3, 4, 4, d="i4", high=9), 2


@rule("embedding_bag")
def embedding_bag():
    for d in "f4", "f8", "bf":
        w = T(10, 4, d=d)
        for mode in {}, {"mode": "sum"}, {"mode": "max"}, {"mode": "x"}:
            yield [T(3, 5, d="i8", high=9), w], mode
            yield [T(7, d="i8", high=9), w, T(v=[0, 3], d="i8")], mode
            offsets = T(v=[0, 3, 7], d="i8")
            yield [T(7, d="i8", high=9), w, offsets], {"include_last_offset": True, **mode}
    yield T(3, 5, d="i4", high=9), T(10, 4)
    yield T(7, d="i8", high=9), T(10, 4)
    yield T(3, 5), T(10, 4)
    yield T(3, 5, d="i8", high=9), T(10, 4, l="t")
