"""Class patterns that Python refuses."""

import torch

GRAPHS = 1


class NoTuple:
    __match_args__ = ["a"]


class NoText:
    __match_args__ = (1,)


class Two:
    __match_args__ = ("p", "q")
    p = 1
    q = 2


def attempt(v, how, cls):
    match how, v:
        case 0, NoTuple(_):
            pass
        case 1, NoText(_):
            pass
        case 2, Two(1, 2, 3):
            pass
        case 3, int(1, 2):
            pass
        case 4, Two(1, p=2):
            pass
        case 5, Neither():
            pass
        case 6, cls():
            pass


Neither = 3


def fn(x):
    found = []
    for how, v in enumerate([NoTuple(), NoText(), Two(), 3, Two(), Two(), Two()]):
        try:
            attempt(v, how, 4)
        except TypeError as e:
            found.append(str(e))
    return x + 1, found


def inputs():
    return (torch.ones(2),)
