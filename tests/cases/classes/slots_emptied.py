"""A slot that is set and deleted again, and the errors of slots that are empty or missing."""

import torch

GRAPHS = 2
SNAPSHOT = False


class Node:
    __slots__ = ("left", "right")


def said(f, *args):
    try:
        return f(*args)
    except AttributeError as error:
        return str(error)


def fn(x, node):
    node.right = x
    del node.right
    answers = [
        said(lambda: node.right),
        said(delattr, node, "right"),
        said(delattr, node, "middle"),
        said(setattr, node, "middle", 1),
    ]
    made = Node()
    made.left = x
    del made.left
    answers += [said(lambda: made.left), said(delattr, made, "left")]
    node.left = x + 1
    return x * 2, answers, hasattr(node, "right"), hasattr(made, "left")


def calls():
    full = Node()
    full.left, full.right = 1, 2
    empty = Node()
    return [(torch.ones(2), empty), (torch.ones(2), full), (torch.ones(2), empty)]
