"""Gradients of a module's parameters as a function: an inner loop, and one for each sample."""

import torch
import torch.nn.functional as F
from torch.func import functional_call, grad, jacrev, vmap

GRAPHS = 1
# torch goes through a set of classes, whose order is that of their addresses.
SNAPSHOT = False

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))


def loss(params, x, y):
    return F.mse_loss(functional_call(model, params, (x,)), y)


def fn(x, y):
    params = dict(model.named_parameters())
    for _ in range(2):
        grads = grad(loss)(params, x, y)
        params = {name: p - 0.1 * grads[name] for name, p in params.items()}
    start = {name: p.detach() for name, p in model.named_parameters()}
    each = vmap(grad(loss), (None, 0, 0))(start, x * 2, y)
    wide = vmap(jacrev(lambda p, row: functional_call(model, p, (row,))), (None, 0))(start, x)
    return loss(params, x, y), {name: g.flatten(1).norm(dim=1) for name, g in each.items()}, wide


def inputs():
    return torch.arange(6.0).view(2, 3) / 6, torch.ones(2, 1)
