"""What torch.autograd.grad gives with create_graph=True is differentiated once more."""

import torch

# With a compiler the function runs in eager mode: nothing of torch's is differentiated twice.
GRAPHS = 3
REFERENCE_GRAPHS = 0
SNAPSHOT = False


def make():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(1, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))

    def residual(x):
        u = model(x)
        (slope,) = torch.autograd.grad(u.sum(), x, create_graph=True)
        (bend,) = torch.autograd.grad(slope.sum(), x, create_graph=True)
        return ((bend + u) ** 2).mean()

    return residual


def calls():
    return [(torch.linspace(0, n, 5)[:, None].requires_grad_(),) for n in (1, 2)]
