"""What `del` of an item says of an object without items depends on the key, too."""

import torch

GRAPHS = 1


class Plain:
    pass


def refused(container, key):
    try:
        del container[key]
    except TypeError as error:
        return str(error)


def fn(x):
    texts = [
        refused(container, key)
        for container in ((1, 2), "ab", 3, Plain(), frozenset())
        for key in (0, "a", True)
    ]
    return x + 1, texts


def inputs():
    return (torch.arange(3.0),)
