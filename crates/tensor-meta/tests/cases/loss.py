"""Cases of the losses of rows and of margins."""

from spec import T, rule

REDUCTIONS = {}, {"reduction": "sum"}, {"reduction": "none"}


@rule("cosine_embedding_loss")
def cosine_embedding_loss():
    for d in "f4", "f8":
        for x, y in ((3, 4), (3,)), ((4,), ()), ((3, 4), ()), ((1, 4), (1,)):
            for target in d, "i8":
                for options in REDUCTIONS:
                    yield [T(*x, d=d), T(*x, d=d), T(*y, d=target)], {"margin": 0.2, **options}


@rule("hinge_embedding_loss", "soft_margin_loss")
def elementwise():
    for d in "f4", "f8", "bf":
        for shape in (3,), (3, 4), (), (0,):
            for target in d, "i8":
                for options in REDUCTIONS:
                    yield [T(*shape, d=d), T(*shape, d=target)], options
        yield T(3, d=d), T(2, 3, d=d)


@rule("gaussian_nll_loss")
def gaussian_nll_loss():
    for d in "f4", "f8":
        for shape in (3,), (3, 4), (2, 3, 4):
            for options in REDUCTIONS:
                yield [T(*shape, d=d), T(*shape, d=d), T(*shape, d=d)], options
                yield [T(*shape, d=d), T(*shape, d=d), T(*shape, d=d)], {"full": True, **options}
            yield T(*shape, d=d), T(*shape, d=d), T(*shape[:-1], d=d)


@rule("multi_margin_loss")
def multi_margin_loss():
    for d in "f4", "f8":
        for options in REDUCTIONS:
            yield [T(3, 5, d=d), T(3, d="i8")], options
            yield [T(3, 5, d=d), T(3, d="i8")], {"p": 2, "margin": 0.5, **options}
            yield [T(5, d=d), T(d="i8")], options
            yield [T(3, 5, d=d), T(3, d="i8"), 1, 1.0, T(5, d=d)], options


@rule("multilabel_margin_loss")
def multilabel_margin_loss():
    for d in "f4", "f8":
        for options in REDUCTIONS:
            yield [T(3, 5, d=d), T(3, 5, d="i8")], options
            yield [T(5, d=d), T(5, d="i8")], options


@rule("ctc_loss")
def ctc_loss():
    for d in "f4", "f8":
        for options in REDUCTIONS:
            scores = T(10, 2, 5, d=d)
            yield [scores, T(2, 4, d="i8"), (10, 10), (4, 4)], options
            yield [scores, T(2, 4, d="i8"), T(v=[10, 10], d="i8"), T(v=[4, 3], d="i8")], options
            yield [scores, T(7, d="i8"), [10, 8], [4, 3]], {"zero_infinity": True, **options}
