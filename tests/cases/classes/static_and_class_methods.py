"""staticmethod and classmethod, called on the class and on an instance."""

import torch

GRAPHS = 1


class M:
    k = 2

    @staticmethod
    def st(x):
        return x + 1

    @classmethod
    def cl(cls, x):
        return x * cls.k

    @classmethod
    def make(cls):
        return cls()


class N(M):
    k = 3


def fn(x):
    return M.st(x), M().st(x), M.cl(x), N.cl(x), N.make().cl(x)


def inputs():
    return (torch.ones(2),)
