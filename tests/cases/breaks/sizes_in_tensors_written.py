"""A tensor of sizes that something may have written to, directly or through a view, is unknown."""

import torch

GRAPHS = 1


def fn(x):
    n = torch.tensor([x.size(0), 5])
    first = n[0]
    first.add_(1)
    a = n.tolist()
    m = torch.tensor(3)
    m += 1
    b = m.item()
    k = torch.tensor([1, 2])
    k.view(2)[0] = 7
    c = k[0].item()
    s = torch.tensor([4])
    torch.add(s, 1, out=s)
    d = s.item()
    big = torch.tensor(2**62) * 2
    return (
        x + 1,
        a,
        b,
        c,
        d,
        big.item(),
        torch.tensor([[1, 2]]).tolist(),
        torch.tensor([1.5]).item(),
    )


def inputs():
    return (torch.ones(2),)
