"""Arrays are NumPy's own random numbers: drawn before the graph, in the program's order."""

import numpy as np
import torch

GRAPHS = 2
SNAPSHOT = False


def fn(a, t, rng):
    drawn = (a + 1) * np.random.randn(3) * rng.normal() - rng.random(3)
    counts = np.random.randint(0, 9, size=(2, 3))
    counts[0] += 1
    noise = torch.from_numpy(np.random.rand(3)) * t
    torch._dynamo.graph_break()
    np.random.seed(len(counts))
    again = np.random.uniform(-1, 1, (2, 2)), a[np.random.permutation(3)]
    return drawn, counts, noise, again, np.random.get_state()[2]


def inputs():
    np.random.seed(0)
    return np.arange(3.0), torch.ones(3), np.random.default_rng(1)


def calls():
    return [inputs(), (np.ones(3), torch.arange(3.0), np.random.default_rng(2))]


REFERENCE_WRONG = "torch.compile draws others"
