"""`__init__` of an exception that exists: its fields are set anew."""

import torch

GRAPHS = 1


def fn(x):
    error = ImportError("text", name="name")
    error.__init__()
    plain = ImportError("text")
    plain.__init__()
    return x + 1, error.msg, error.name, error.args, plain.msg, plain.args


def inputs():
    return (torch.ones(2),)
