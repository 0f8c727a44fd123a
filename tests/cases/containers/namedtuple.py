"""A named tuple: fields, replacement, unpacking."""

from collections import namedtuple

import torch

GRAPHS = 1
Point = namedtuple("Point", ["x", "y"])


def fn(p):
    q = Point(p.x + 1, y=p.y * 2)
    a, b = q
    return q, a + b, q._replace(x=p.x), len(q), q[0] - p[1], Point._fields


def inputs():
    return (Point(torch.randn(2), torch.randn(2)),)
