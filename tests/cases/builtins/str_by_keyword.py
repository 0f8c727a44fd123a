"""`str` with an encoding or a way to treat errors, by name and without an object."""

import torch


def fn(x):
    texts = [
        str(),
        str(errors="strict"),
        str(encoding="utf-8"),
        str(object=b"ab", errors="ignore"),
        str(b"a\xffb", errors="replace"),
        str(b"ab", "ascii"),
    ]
    return x + 1, texts


def inputs():
    return (torch.ones(2),)


GRAPHS = 1
