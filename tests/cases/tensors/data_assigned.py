"""x.data = y: new memory for a tensor, parameters too, unseen by autograd."""

import torch

REFERENCE_WRONG = "counts of writes differ"
GRAPHS = 1


class Moving(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)

    def forward(self, x, y, w):
        z = x * w
        w.data = w.data * 2
        y.data = x.t()[:2].detach()
        with torch.no_grad():
            for p, q in zip(self.a.parameters(), self.b.parameters()):
                q.data = q.data * 0.9 + p.data * 0.1
        return z + x * w, y.shape, y + 1, self.b(x)


def make():
    return Moving()


def inputs():
    return torch.randn(3, 3), torch.randn(3), torch.randn(3, requires_grad=True)
