"""Functions that are made in the compiled function, decorated with grad modes."""

import torch

GRAPHS = 1


def fn(x):
    @torch.no_grad()
    def quiet(t, *, by=2):
        return t * by, torch.is_grad_enabled()

    @torch.enable_grad()
    def loud(t):
        def inner(u):
            return u * 3

        return torch.no_grad()(inner)(t) + inner(t), torch.is_grad_enabled()

    a, b = quiet(x, by=5), loud(x)
    return a, b, quiet.__name__, torch.is_grad_enabled(), (a[0] + b[0]).requires_grad


def inputs():
    return (torch.ones(3, requires_grad=True),)
