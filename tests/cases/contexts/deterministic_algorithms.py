"""Deterministic algorithms are chosen in the graph; the program reads what it has chosen."""

import torch

SNAPSHOT = False
GRAPHS = 2


def flags():
    return (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )


def before(index):
    torch.use_deterministic_algorithms(False)


def fn(x, stays):
    torch.use_deterministic_algorithms(True, warn_only=True)
    y = x + 1 if torch.are_deterministic_algorithms_enabled() else x
    warns = flags()
    torch.use_deterministic_algorithms(stays)
    return y * 2, warns, flags()


def calls():
    return [(torch.ones(3), stays) for stays in (False, True, False)]


def make():
    def outer(x, stays):
        try:
            return *fn(x, stays), flags()
        finally:
            torch.use_deterministic_algorithms(False)

    return outer
