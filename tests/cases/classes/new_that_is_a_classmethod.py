"""`__new__` that is a class method gets the class twice."""

import torch

GRAPHS = 1


class Odd:
    @classmethod
    def __new__(*args):
        return args


def fn(x):
    return x + 1, Odd(1, 2) == (Odd, Odd, 1, 2)


def inputs():
    return (torch.ones(2),)
