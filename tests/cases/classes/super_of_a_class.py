"""`super()` where the receiver is a class, and where there is none."""

import torch

GRAPHS = 0
REFERENCE_GRAPHS = 1


class Base:
    @staticmethod
    def static(cls, *rest):
        return rest

    def plain(self):
        return "plain"

    @property
    def prop(self):
        return 1


class Middle(Base):
    def static(cls, *rest):
        return super().static(cls, *rest)

    @classmethod
    def unbound(cls):
        return super().plain(5), type(super().prop).__name__

    def nothing():
        return super()

    def deleted(self):
        del self
        return super()


class Last(Middle):
    @staticmethod
    def static(cls):
        return super().static(cls)


def fn(x):
    found = [Last.static(Last), Middle.unbound()]
    for f in (
        lambda: Middle.nothing(),
        lambda: Middle().deleted(),
        lambda: super(1, int),
        lambda: super(Middle, 3),
    ):
        try:
            found.append(f())
        except (RuntimeError, TypeError) as error:
            found.append(str(error))
    return x + 1, found


def inputs():
    return (torch.ones(2),)
