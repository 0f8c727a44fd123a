"""A width applies to the text of an object, converted before; numbers in it may change."""

import torch

GRAPHS = 3


class Size:
    def __init__(self, n):
        self.n = n

    def __repr__(self):
        return f"{type(self).__name__}({self.n})"


def fn(x, n):
    size = Size(n)
    texts = "{!r:>9}".format(size), f"{size!r:>9}", f"{size!s:^9}|", f"{n!r:>4}", f"{[n]!r:>6}"
    of_super = super(Size, size)
    return x * n, texts, of_super.__thisclass__ is Size, of_super.__self__.n


def calls():
    return [(torch.ones(2), n) for n in (2, 3, 4)]
