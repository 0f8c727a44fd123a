"""int, float, str, bool, list, tuple, dict, set, complex, bytes of plain values."""

import torch

GRAPHS = 1


def fn(x):
    return (
        x + int("12") + int(3.7) + float("1.5"),
        str(12),
        str(None),
        bool(0),
        bool("a"),
        list("abc"),
        tuple([1, 2]),
        dict(a=1),
        set("aab"),
        int("ff", 16),
        float(2),
        complex(1, 2),
        bytes([1, 2]),
        repr("q"),
        chr(97),
        ord("a"),
        hex(255),
        bin(5),
        hash(5),
        int(True),
    )


def inputs():
    return (torch.ones(2),)
