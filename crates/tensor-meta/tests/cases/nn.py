"""Cases of activations, dropout, products, attention."""

from elementwise import layouts
from spec import TABLE, T, rule


def each(*rest):
    for t in layouts():
        for r in rest:
            if isinstance(r, dict):
                yield [t], r
            else:
                yield (t, *r)
    for d in "f2", "bf", "f8", "i8", "u1", "b", "c4":
        for r in rest[:2]:
            yield ([T(3, 4, d=d)], r) if isinstance(r, dict) else (T(3, 4, d=d), *r)


@rule("silu", "mish", "hardswish", "hardsigmoid", "relu6", "selu", "relu")
def plain():
    yield from each((), {"inplace": True}, (True,), (False,))


@rule("leaky_relu", "celu", "elu")
def one():
    yield from each((), (0.2,), (1.5, True), {"inplace": True})


@rule("hardtanh")
def hardtanh():
    yield from each((), (0.1, 0.4), (0.0, 6.0, True), (3.0, 1.0))


@rule("threshold")
def threshold():
    yield from each((0.1, 0.4), (0.0, 6.0, True))


@rule("hardshrink", "softshrink")
def shrink():
    yield from each((), (0.2,))


@rule("gelu")
def gelu():
    yield from each((), {"approximate": "tanh"}, {"approximate": "x"})


@rule("softplus")
def softplus():
    yield from each((), (2.0, 10.0), {"beta": 1, "threshold": 20})


@rule("logsigmoid", "softsign")
def logsigmoid():
    yield from each(())


@rule("glu")
def glu():
    yield from each((), (0,), (2,), (-2,), (1,))


@rule("prelu")
def prelu():
    yield from each((T(1),), (T(3),), (T(4),))


@rule("normalize")
def normalize():
    yield from each((), {"dim": -1}, {"p": 1.0, "dim": 0}, (2.0, 1, 1e-6))


@rule("dropout", "dropout2d", "alpha_dropout")
def dropout():
    yield from each(
        (0.5, True),
        (0.5, False),
        (0.0, True),
        (0.5, True, True),
        (0.5, False, True),
        {"p": 0.1, "training": True},
        {"p": 0.1, "training": False},
        (1.5, True),
    )


MATS = [
    ((2, 3), (3, 4)),
    ((3,), (3, 4)),
    ((2, 3), (3,)),
    ((3,), (3,)),
    ((2, 3), (4, 3)),
    ((5, 2, 3), (5, 3, 4)),
    ((5, 2, 3), (3, 4)),
    ((5, 2, 3), (3,)),
    ((2, 3), (5, 3, 4)),
    ((3,), (5, 3, 4)),
    ((2, 1, 4, 3), (5, 3, 2)),
    ((2, 5, 4, 3), (2, 5, 3, 6)),
    ((), (3,)),
    ((0, 3), (3, 4)),
    ((2, 0), (0, 4)),
    ((5, 2, 3), (4, 3, 2)),
    ((1, 3), (3, 1)),
    ((5, 1, 3), (1, 3, 1)),
    ((5, 0, 3), (5, 3, 4)),
    ((2, 2, 3, 4, 5), (5, 6)),
    ((2, 3, 4, 5), (2, 3, 5, 4)),
]


def products():
    for a, b in MATS:
        for la in "c", "t", "r", "e", "s":
            for lb in "c", "t", "r", "el":
                yield T(*a, l=la), T(*b, l=lb)
        yield T(*a, d="i8"), T(*b, d="i8")
        yield T(*a, d="f4"), T(*b, d="f8")
        yield T(*a, d="bf"), T(*b, d="bf")
        yield T(*a, d="c4"), T(*b, d="c4")


TABLE.update({n: products for n in ("matmul", "mm", "bmm", "mv", "dot")})
TABLE["rmatmul"] = lambda: ((b, a) for a, b in products())


@rule("addmm", "baddbmm")
def addmm():
    for a, b in products():
        yield T(4, d=a.d), a, b
        yield T(2, 4, d=a.d), a, b
        yield T(5, 2, 4, d=a.d), a, b
        yield [T(5, 1, 1, d=a.d), a, b], {"beta": 1, "alpha": 2.0}


@rule("outer")
def outer():
    yield T(3), T(4)
    yield T(3, l="s"), T(4)
    yield T(2, 3), T(4)
    yield T(3), T(4, d="f8")
    yield T(0), T(4)


@rule("linear")
def linear():
    for t in layouts():
        n = t.shape[-1] if t.shape else 1
        for w in T(7, n), T(7, n, l="t"), T(1, n), T(7, n + 1), T(n):
            yield t, w
            yield t, w, T(7)
        yield [t], {"weight": T(6, n), "bias": T(6)}
    for d in "f2", "bf", "f8", "i8", "c4":
        yield T(2, 3, d=d), T(4, 3, d=d), T(4, d=d)
        yield T(2, 3, d=d), T(4, 3)
        yield T(2, 5, 3, d=d), T(4, 3, d=d)
        yield T(2, 5, 3, d=d), T(4, 3, d=d), T(4)


@rule("bilinear")
def bilinear():
    yield T(5, 2), T(5, 3), T(4, 2, 3), T(4)
    yield T(5, 2), T(5, 3), T(4, 2, 3)
    yield T(6, 5, 2), T(6, 5, 3), T(4, 2, 3), T(4)
    yield T(5, 2), T(5, 3), T(4, 3, 3)


@rule("tensordot")
def tensordot():
    for l in "c", "r", "t":
        yield [T(2, 3, 4, l=l), T(3, 4, 5)], {"dims": 2}
        yield T(2, 3, 4), T(4, 3, 5, l=l), ([1, 2], [1, 0])
        yield [T(2, 3, 4, l=l), T(4, 5)], {"dims": 1}
        yield [T(2, 3, 4, l=l), T(6, 3)], {"dims": ([1], [1])}
        yield [T(3), T(4)], {"dims": 0}


@rule("einsum")
def einsum():
    for eq, a, b in (
        ("ij,jk->ik", (2, 3), (3, 4)),
        ("bij,bjk->bik", (5, 2, 3), (5, 3, 4)),
        ("bhid,bhjd->bhij", (2, 3, 4, 5), (2, 3, 6, 5)),
        ("bhij,bhjd->bihd", (2, 3, 4, 6), (2, 3, 6, 5)),
        ("i,j->ij", (3,), (4,)),
        ("bqd,dk->bqk", (2, 3, 4), (4, 5)),
        ("ij,jk->ki", (2, 3), (3, 4)),
        ("nchw,nqc->nqhw", (2, 3, 4, 5), (2, 6, 3)),
        ("bqnc,bnchw->bqnhw", (2, 3, 4, 5), (2, 4, 5, 3, 2)),
        ("bhwc,hkc->bhwk", (2, 3, 4, 5), (3, 6, 5)),
        ("bhwc,wkc->bhwk", (2, 3, 4, 5), (4, 6, 5)),
        ("ij,ij->i", (2, 3), (2, 3)),
        ("ij,ij->ij", (2, 3), (2, 3)),
        ("i,i->", (3,), (3,)),
        ("ij,k->ik", (2, 3), (4,)),
        ("bij,bjk->bik", (1, 2, 3), (1, 3, 4)),
        ("bij,bjk->kbi", (5, 1, 3), (5, 3, 4)),
        ("bij,bjk->bik", (5, 2, 1), (5, 1, 4)),
        ("...ij,jk->...ik", (5, 2, 3), (3, 4)),
        ("ij,jk", (2, 3), (3, 4)),
        ("bij,cjk->bcik", (5, 2, 3), (4, 3, 6)),
        ("ij,jk->ik", (2, 3), (4, 4)),
        ("bij,jk->bki", (2, 3, 4), (4, 5)),
        ("bhqc,kc->khbq", (2, 3, 4, 5), (6, 5)),
        ("bij,bjk->bki", (2, 3, 4), (2, 4, 5)),
        ("bij,bjk->kbi", (2, 3, 4), (2, 4, 5)),
        ("bghid,bghjd->bghij", (2, 1, 3, 4, 5), (2, 1, 3, 6, 5)),
        ("bghid,bghjd->bghij", (1, 1, 1, 4, 5), (1, 1, 1, 6, 5)),
        ("bghij,bghjd->bghid", (2, 1, 3, 1, 5), (2, 1, 3, 5, 6)),
        ("bythwc,hkc->bythwk", (2, 1, 3, 4, 2, 5), (4, 6, 5)),
        ("bythwc,wkc->bythwk", (2, 1, 3, 4, 2, 5), (2, 6, 5)),
    ):
        for l in "c", "t", "r":
            yield eq, T(*a, l=l), T(*b)
            yield eq, T(*a), T(*b, l=l)
        yield eq, [T(*a), T(*b)]


@rule("scaled_dot_product_attention")
def sdpa():
    def qkv(b=2, h=3, l=4, s=5, e=8, ev=8, **kw):
        return T(b, h, l, e, **kw), T(b, h, s, e, **kw), T(b, h, s, ev, **kw)

    for kw in (
        {},
        {"l": 5},
        {"b": 1},
        {"h": 1},
        {"b": 1, "h": 1, "l": 1},
        {"l": 1},
        {"ev": 6},
        {"s": 1},
        {"e": 1, "ev": 1},
        {"d": "f8"},
        {"d": "bf"},
    ):
        q, k, v = qkv(**kw)
        yield q, k, v
        yield [q, k, v], {"is_causal": True}
        yield [q, k, v], {"dropout_p": 0.1}
        yield [q, k, v], {"scale": 0.5}
        for m in (
            (q.shape[2], k.shape[2]),
            (2, 1, q.shape[2], k.shape[2]),
            (q.shape[0], q.shape[1], q.shape[2], k.shape[2]),
            (1, q.shape[2], k.shape[2]),
            (k.shape[2],),
            (1, 1, 1, k.shape[2]),
        ):
            for d in "b", q.d:
                yield [q, k, v], {"attn_mask": T(*m, d=d)}
                yield [q, k, v], {"attn_mask": T(*m, d=d), "dropout_p": 0.1}
    for l in "c", "t", "r", "h":
        for heads, some in (4, 2), (4, 1), (2, 2):
            q, k = T(2, heads, 3, 8, l=l), T(2, some, 5, 8, l=l)
            for gqa in True, False:
                yield [q, k, k], {"enable_gqa": gqa}
                yield [q, k, k], {"enable_gqa": gqa, "attn_mask": T(2, 1, 3, 5)}
                yield [q, k, k], {"enable_gqa": gqa, "attn_mask": T(3, 5, d="b")}
                yield [q, k, k], {"enable_gqa": gqa, "dropout_p": 0.1}
    for l in "t", "p", "r", "s", "e", "h":
        q, k, v = qkv()
        yield [q.but(l=l), k.but(l=l), v.but(l=l)], {"attn_mask": T(4, 5)}
        yield [q.but(l=l), k.but(l=l), v.but(l=l)], {"dropout_p": 0.5}
        yield q.but(l=l), k.but(l=l), v.but(l=l)
        yield q.but(l=l), k, v
        yield q, k, v.but(l=l)
    yield T(2, 4, 8), T(2, 5, 8), T(2, 5, 8)
    yield T(4, 8), T(5, 8), T(5, 8)
    yield [T(2, 4, 8), T(2, 5, 8), T(2, 5, 8)], {"attn_mask": T(4, 5, d="b")}
    yield [T(2, 6, 4, 8), T(2, 3, 5, 8), T(2, 3, 5, 8)], {"enable_gqa": True}
    yield [T(2, 6, 4, 8), T(2, 3, 4, 8), T(2, 3, 4, 8)], {"enable_gqa": True, "is_causal": True}
    yield (
        [T(2, 6, 4, 8), T(2, 3, 5, 8), T(2, 3, 5, 8)],
        {"enable_gqa": True, "attn_mask": T(4, 5, d="b")},
    )
    yield [T(2, 6, 4, 8), T(2, 3, 5, 8), T(2, 3, 5, 8)], {}


@rule("cdist")
def cdist():
    for l in "c", "t", "r":
        yield T(2, 3, l=l), T(4, 3)
        yield T(5, 2, 3), T(5, 4, 3, l=l)
        yield T(5, 2, 3, l=l), T(1, 4, 3), 1.0


@rule("cosine_similarity")
def cosine_similarity():
    for a, b in (((2, 3), (2, 3)), ((2, 1, 4), (3, 4)), ((5, 3), (3,))):
        yield T(*a), T(*b)
        yield [T(*a), T(*b)], {"dim": -1}


def row_losses(count):
    def cases():
        for shape in (3, 4), (5,), (2, 3, 4):
            for d in "f4", "f8", "bf":
                for l in "c", "t":
                    given = [T(*shape, d=d, l=l) for _ in range(count)]
                    yield given, {}
                    yield given, {"reduction": "sum"}
                    yield given, {"reduction": "none"}
        yield given[:-1] + [T(3, 4, d="f8")], {}
        yield [T() for _ in range(count)], {}

    return cases


TABLE["triplet_margin_loss"] = TABLE["margin_ranking_loss"] = row_losses(3)
TABLE["poisson_nll_loss"] = row_losses(2)


@rule("weight_norm")
def weight_norm():
    for shape in (3, 4, 5), (3, 4), (2, 3, 4, 5), (1, 3):
        for dim in range(len(shape)):
            length = [n if i == dim else 1 for i, n in enumerate(shape)]
            for d in "f4", "f8":
                for l in "c", "t":
                    yield T(*shape, d=d, l=l), T(*length, d=d), dim
    yield T(3, 4), T(3, 1)
    yield T(3, 4), T(), -1
    yield T(3, 4), T(4, 1), 0


@rule("renorm")
def renorm():
    for shape in (3, 4), (2, 3, 4), (0, 2), (3,), ():
        for l in "c", "t":
            for d in "f4", "f8", "i8":
                for p, dim, most in (
                    (2, 0, 1.0),
                    (1, -1, 0.5),
                    (3.5, 1, 2),
                    (0, 0, 1),
                    (2, 0, -1.0),
                    (2, 7, 1),
                ):
                    yield T(*shape, d=d, l=l), p, dim, most


def layer(d="f4", width=8, inner=16, **kw):
    """Parameters of an attention, then of what follows it."""
    first = [T(3 * width, width, d=d), T(3 * width, d=d), T(width, width, d=d), T(width, d=d)]
    norms = [T(width, d=d) for _ in range(4)]
    return first, [*norms, T(inner, width, d=d), T(inner, d=d), T(width, inner, d=d), T(width, d=d)]


@rule("_native_multi_head_attention")
def native_multi_head_attention():
    for d in "f4", "f8", "f2":
        first, _ = layer(d)
        for shape in (2, 5, 8), (1, 1, 8), (3, 4, 8), (5, 8), (0, 5, 8), (2, 5, 4):
            for l in "c", "p", "t":
                x = T(*shape, d=d, l=l)
                yield x, x, x, 8, 2, *first
                yield x, x, x, 8, 2, *first, None, False
                yield x, x, x, 8, 4, *first, None, True, False
        x = T(2, 5, 8, d=d)
        yield x, x, x, 8, 2, *first, T(5, 5, d="b"), False, True, 0
        yield x, x, x, 8, 2, *first, T(2, 5, d="b"), True, True, 1
        yield x, x, x, 8, 3, *first
        yield x, T(2, 7, 8, d=d), T(2, 7, 8, d=d), 8, 2, *first


@rule("_transformer_encoder_layer_fwd")
def transformer_encoder_layer():
    for d in "f4", "f8":
        first, rest = layer(d)
        for shape in (2, 5, 8), (1, 1, 8), (5, 8), (2, 5, 4):
            for l in "c", "p", "t":
                for gelu in False, True:
                    for before in False, True:
                        x = T(*shape, d=d, l=l)
                        yield x, 8, 2, *first, gelu, before, 1e-5, *rest
        yield T(2, 5, 8, d=d), 8, 2, *first, False, False, 1e-5, *rest, T(5, 5, d="b"), 0
        yield T(2, 5, 8, d=d), 8, 2, *first, False, False, 1e-5, *rest, T(2, 5, d="b"), 1
