"""What a frame of a traceback holds goes with the exception: it is in no cycle."""

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 1

log = []


def steps(n, t):
    try:
        for i in range(n):
            yield t + i
    finally:
        log.append("closed")


def handlers(x, n):
    try:
        raise KeyError("a")
    except KeyError:
        try:
            g = steps(n, x)
            next(g)
            n // (n - n)
        except ZeroDivisionError as e:
            log.append("caught")
            raise ValueError("again") from e
        finally:
            log.append("finally")
            raise TypeError("mine")


def loop(x, n):
    print(float(x.sum()))
    for _ in range(3):
        g = steps(n, x)
        next(g)
        try:
            raise StopIteration(3)
        finally:
            try:
                n // (n - n)
            finally:
                n += 1


def fn(x, n, which):
    return (handlers if which else loop)(x, n)


def calls():
    return [(torch.ones(2), 2, which) for which in (True, False, True, False)]
