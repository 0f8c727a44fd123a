"""What arrays of constants hold decides while tracing, until one is written to."""

import numpy as np
import torch

GRAPHS = 1


def fn(x):
    rates = np.linspace(0, 0.5, 3)
    for rate in rates:
        x = x * (1 - float(rate))
    if rates.max() > 0.4 and np.unique([1, 1, 2]).size == 2:
        x = x + 1
    middle = int(np.percentile(rates, 50) * 4)
    counts = np.zeros(2, dtype=np.int64)
    counts[0] = 3
    return x, counts, rates[1], counts + 1, middle, np.unique([3, 3, 1])


def inputs():
    return (torch.ones(3),)


REFERENCE_WRONG = "numbers become arrays"
