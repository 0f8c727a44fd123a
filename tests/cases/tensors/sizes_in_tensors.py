"""The values of small integer tensors are known as long as nothing writes to one."""

import torch
import torch.nn.functional as F

GRAPHS = 1


def fn(x, y):
    dx = torch.tensor([y.size(1) - x.size(1)])
    dy = torch.tensor(y.size(0) - x.size(0))
    padded = F.pad(x, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
    height, width = torch.tensor(x.shape).tolist()
    n = torch.tensor(x.shape)[-1].item() + int(torch.as_tensor(-7) // 2 * 3)
    dims = torch.arange(x.dim()).tolist(), torch.arange(1, x.dim()).tolist(), torch.arange(7, 0, -3)
    y = y + dims[2].tolist()[2]
    return (
        padded + y,
        dims,
        x.sum(dims[1]),
        x.view(width, height),
        n,
        [1, 2, 3][torch.tensor(1)],
        dx,
    )


def inputs():
    return torch.ones(2, 3, requires_grad=True), torch.ones(4, 6)
