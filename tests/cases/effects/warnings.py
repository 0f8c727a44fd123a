"""Warnings: once for each place, attributed by stacklevel, and turned into exceptions."""

import warnings

import torch

GRAPHS = 6
REFERENCE_GRAPHS = 2


def deprecated(x):
    warnings.warn("deprecated", DeprecationWarning, stacklevel=2)
    warnings.warn(f"of shape {tuple(x.shape)}")
    return x * 2


def outer(x):
    y = deprecated(x)
    warnings.warn("from outer", stacklevel=1)
    return y


def handled(x):
    try:
        warnings.warn("handled")
    except UserWarning:
        return x
    return x + 1


def raised(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            warnings.warn("raised")
        except UserWarning as error:
            print("caught", error)
            return x - 1
    return x


def fn(x):
    warnings.warn("first", UserWarning)
    for i in range(2):
        x = outer(x)
        print("step", i)
    with torch.no_grad():
        warnings.warn("inside with")
    return handled(x), raised(x)


def calls():
    return [(torch.ones(2),), (torch.ones(3),), (torch.ones(2),)]
