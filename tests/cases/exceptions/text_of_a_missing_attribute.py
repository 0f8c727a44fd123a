"""The text of the `AttributeError` of an attribute that is missing, in one graph."""

import torch

GRAPHS = 1


class Thing:
    @property
    def broken(self):
        return self.other


class Own(AttributeError):
    pass


layer = torch.nn.Linear(2, 2)
thing = Thing()


def text(get):
    try:
        return get()
    except AttributeError as e:
        return str(e), f"{e}", repr(e), e.args


def raising():
    raise Own("a", 1)


def fn(x):
    y = x.sin()
    texts = [
        text(lambda: thing.nothing),
        text(lambda: Thing().nothing),
        text(lambda: thing.broken),
        text(lambda: layer.nothing),
        text(lambda: y.nothing),
        text(lambda: Thing.nothing),
        text(lambda: (1).nothing),
        text(raising),
    ]
    try:
        missing  # noqa: B018, F821
    except NameError as e:
        texts.append(str(e))
    return y.cos() + len(texts[0][0]), texts


def inputs():
    return (torch.ones(2),)
