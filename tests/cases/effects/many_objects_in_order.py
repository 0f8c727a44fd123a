"""Changes to many objects that refer to each other."""

import torch

GRAPHS = 1
BYTECODE = True


class Node:
    def __init__(self, v):
        self.v = v
        self.next = None


def fn(x, first, log):
    second = Node(x + 1)
    first.next = second
    second.next = first
    log.append(second)
    log[0].v = second.v * 2
    first.v = log
    return second


def calls():
    return [(torch.ones(2), Node(1), []), (torch.ones(2), Node(1), [])]
