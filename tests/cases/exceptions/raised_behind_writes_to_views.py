"""What was done before an operation raised stays done, if views of new tensors were written to."""

import torch

SNAPSHOT = False
GRAPHS = 2


def sliced(x, at, log):
    log.append("sliced")
    y = x.clone()
    y[2:].zero_()
    return y, x[at]


def chained(x, at, log):
    log.append("chained")
    y = torch.zeros(4, 6)
    y.view(3, 8).t()[1:].add_(x.sum())
    y[0] += 1
    return y + x[at].sum()


def fn(work, x, at, log):
    return work(x, at, log)


def calls():
    for work in sliced, chained:
        for at in [0, 1], [3, 2], [1, 7], [0, 9], [2, 1]:
            yield work, torch.arange(24.0).reshape(4, 6), torch.tensor(at), []
