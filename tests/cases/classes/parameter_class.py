"""Parameters of a class that adds attributes, methods and properties to torch's."""

import torch

GRAPHS = 1
BACKWARD = True


class Scaled(torch.nn.Parameter):
    kind = "weight"

    def __new__(cls, data, scale):
        made = super().__new__(cls, data)
        made.scale = scale
        return made

    def scaled(self):
        return self * self.scale

    @property
    def last(self):
        return self.shape[-1] + 1


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = Scaled(torch.ones(2, 3), 2.0)

    def forward(self, x):
        y = torch.nn.functional.linear(x, self.weight.scaled()) * self.weight.last
        return y + 1 if self.weight.kind == "weight" else y


LAYER = Layer()


def fn(x):
    is_one = isinstance(LAYER.weight, Scaled), type(LAYER.weight) is Scaled
    return LAYER(x), is_one, type(LAYER.weight.data), type(LAYER.weight + 1)


def inputs():
    return (torch.ones(4, 3, requires_grad=True),)
