"""Truth of instances: `__bool__`, `__len__`, neither."""

import torch

GRAPHS = 1


class A:
    def __bool__(self):
        return False


class B:
    def __len__(self):
        return 0


class C:
    pass


def fn(x):
    return x + 1, bool(A()), not B(), 1 if C() else 2, bool(len([1]))


def inputs():
    return (torch.ones(2),)
