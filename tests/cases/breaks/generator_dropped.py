"""A suspended generator that nothing uses any more lives until its frame goes."""

import torch

GRAPHS = 3


@torch.compiler.disable
def say(*args):
    print(*args)


def steps(x, log):
    try:
        for i in range(3):
            yield x * i
    finally:
        log.append("closed")


def fn(x, log, fail):
    it = steps(x, log)
    y = next(it, x)
    say("between")
    y = y + 1
    say("again")
    log.append("end")
    if fail:
        raise KeyError("k")
    return y * 2


def calls():
    return [(torch.ones(2), [], False), (torch.ones(2), [], True), (torch.ones(2), [], True)]
