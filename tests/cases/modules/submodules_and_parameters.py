"""Parameters, buffers and submodules reached in every way."""

import torch

GRAPHS = 1


class Inner(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(3))
        self.register_buffer("b", torch.ones(3))

    def forward(self, x):
        return x * self.w + self.b


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
        self.plist = torch.nn.ParameterList([torch.nn.Parameter(torch.randn(3))])
        self.bias = None

    def forward(self, x):
        y = self.inner(x) + self.plist[0]
        if self.bias is not None:
            y = y + self.bias
        n = sum(p.numel() for p in self.parameters())
        return y, n, [k for k, _ in self.named_parameters()], y * self.get_parameter("inner.w")


def make():
    return Net()


def inputs():
    return (torch.randn(2, 3),)
