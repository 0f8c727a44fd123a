"""Operations that no rule describes leave sizes symbols: one graph for all sizes but the first."""

import torch
from torch.func import jacrev

GRAPHS = 2
REFERENCE_GRAPHS = 4
# Guards of the Python of torch that is inlined are a thousand lines.
SNAPSHOT = False


@torch.library.custom_op("ferrodyn_cases::rows_twice", mutates_args=())
def rows_twice(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x, x * 2])


@rows_twice.register_fake
def _(x):
    return x.new_empty(2 * x.shape[0], x.shape[1])


def fn(x):
    y = rows_twice(x)
    rows = jacrev(torch.sin)(x[:, 0])
    # Each as large as the smaller side of a matrix.
    square = rows + rows.t()
    smaller = torch.diagonal_copy(square), torch.linalg.lu(x)[1]
    return y * y.shape[0], rows @ x, y.stride(), rows.shape, *smaller


def calls():
    return [(torch.linspace(0, 1, 3 * n).reshape(n, 3),) for n in (4, 5, 7, 9)]
