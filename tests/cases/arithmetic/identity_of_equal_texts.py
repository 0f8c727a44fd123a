"""Equal texts are two objects where the program has made one of them."""

import operator

import torch

GRAPHS = 2
REFERENCE_WRONG = "folds equal texts into one object"


def fn(x):
    text = "xyzpdq"
    made = text[:3] + text[3:]
    y = x + 1
    facts = made is text, operator.is_(text, made), made is not text, made == text
    return y * len(made), facts


def inputs():
    return (torch.arange(3.0),)
