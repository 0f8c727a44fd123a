"""NumPy's numbers where they are more than Python's: a dtype, an array of a sequence, no float."""

import numpy as np
import torch
import torch.nn.functional as F

GRAPHS = 3


def error(f):
    try:
        f()
    except Exception as e:
        return type(e).__name__, str(e)


def fn(x):
    y = x.clone()
    made = torch.tensor(np.float32(2.0)), torch.tensor([np.int32(1)])
    repeated = (1, 2) * np.int64(2), [1, 2] == np.int64(1)
    flags = (x > 0).to(torch.int64) * np.bool_(True)
    y[0] = np.float64(3)
    scaled = F.interpolate(x[None, None], scale_factor=np.float64(2.0))
    told = error(lambda: y.__setitem__(0, np.float32(3))), error(lambda: x.sum(np.float64(0)))
    return y, made, repeated, flags, scaled, told, np.float64(1).reshape(1)


def inputs():
    return (torch.ones(3),)


REFERENCE_WRONG = "a NumPy scalar becomes an array"
