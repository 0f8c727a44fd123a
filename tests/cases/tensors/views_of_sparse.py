"""Parts of a sparse tensor are views of it, which no compiler can make fake ones of."""

import torch

GRAPHS = 0
SNAPSHOT = False


def fn(x):
    sparse = x.to_sparse_csr()
    return sparse.values() * 2, (sparse @ x).relu()


def inputs():
    return [(torch.eye(3),), (torch.ones(2, 2),)]
