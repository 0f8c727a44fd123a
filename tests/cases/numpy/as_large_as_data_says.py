"""Arrays and tensors that are as large as data says, and places that a tensor names."""

import numpy as np
import torch

GRAPHS = 2
REFERENCE_WRONG = "gives an array for a number of NumPy's"
OPTIONS = {"capture_scalar_outputs": True, "capture_dynamic_output_shape_ops": True}
SNAPSHOT = False


def fn(a, k):
    chosen = a[a > 1]
    rows = np.nonzero(a)[0] * 2, np.unique(a), np.where(a > 2)
    x = torch.from_numpy(a)
    return chosen * 2, chosen.sum(), rows, np.sort(chosen), x[x > 1] + 1, x[k]


def calls():
    rows = [np.array([1.0, 0, 3, 0, 5]), np.array([0.0, 0, 3, 0, 5, 7]), np.array([1.0, 2, 3])]
    return [(row, torch.tensor(k)) for row, k in zip(rows, (1, -2, 2), strict=True)]
