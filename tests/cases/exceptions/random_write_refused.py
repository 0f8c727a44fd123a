"""A write of random numbers that is refused draws them once, and finds its handler."""

import torch
import torch.nn.functional as F

GRAPHS = 7
REFERENCE_GRAPHS = 4


def dropout(x):
    try:
        F.dropout(x.view(3), 0.5, True, inplace=True)
    except RuntimeError as error:
        return str(error), torch.rand(2)
    return x


def dropout_asked_by_place(x):
    try:
        F.dropout(x[1:], 0.5, True, True)
    except RuntimeError as error:
        return str(error), torch.rand(2)
    return x


def dropout_of_a_leaf(x):
    return F.dropout(x.view(3), 0.5, True, inplace=False), F.dropout(x.view(3), 0.5, True, False)


def one_of_many(x):
    first, _, _ = (x * 2).unbind()
    try:
        torch.dropout_(first, 0.5, True)
    except RuntimeError as error:
        return str(error), torch.rand(2)
    return first


def fn(x, work):
    return work(x)


def calls():
    works = [dropout, dropout_asked_by_place, dropout_of_a_leaf, one_of_many]
    return [(torch.ones(3, requires_grad=True), work) for work in works for _ in range(2)]


COMPILED_WRONG = "AOTAutograd lets one of several views be written to"
