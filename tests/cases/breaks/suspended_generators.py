"""Generators that are suspended, or have not begun, where the graph breaks."""

import torch

GRAPHS = 8
REFERENCE_GRAPHS = 2


@torch.compiler.disable
def say(*args):
    print(*args)


def steps(x, n, *rest, k=2, log, **options):
    total = 0
    try:
        for i in range(n):
            total += i
            sent = yield x * i + k + total + len(rest) + len(options)
            if sent:
                total += sent
    except KeyError as error:
        log.append(error.args)
        yield x
    finally:
        log.append("done")
    return total


def delegate(x, log):
    result = yield from steps(x, 3, log=log)
    yield result


def started(x, log):
    it = steps(x, 4, 1, k=3, log=log)
    a = next(it)
    say("started")
    b = it.send(5)
    c = next(it)
    it.close()
    return a + b + c


def not_begun(x, log):
    it = steps(x, 3, 4, z=3, log=log)
    say("not begun")
    return sum(it, x)


def thrown(x, log):
    it = steps(x, 3, log=log)
    next(it)
    say("thrown")
    return it.throw(KeyError("k"))


def loop(x, log):
    s = x
    for v in steps(x, 5, log=log):
        s = s + v
        say("loop")
    return s


def delegates(x, log):
    it = delegate(x, log)
    a = next(it)
    say("delegates")
    return a + sum(it)


def expression(x, log):
    k = 3
    it = (x * i + k for i in range(4))
    a = next(it)
    say("expression")
    k = 4
    return a + sum(it)


def fn(x):
    log = []
    parts = [f(x, log) for f in (started, not_begun, thrown, loop, delegates, expression)]
    return parts, log


def inputs():
    return (torch.ones(2),)
