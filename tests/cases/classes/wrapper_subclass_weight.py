"""A weight kept in eight bits: a linear layer is one graph, with gradients for its input."""

import torch

GRAPHS = 1
SNAPSHOT = False


class Quantized(torch.Tensor):
    @staticmethod
    def __new__(cls, values, scale):
        return torch.Tensor._make_wrapper_subclass(cls, values.shape, dtype=scale.dtype)

    def __init__(self, values, scale):
        self.values_, self.scale = values, scale

    def __tensor_flatten__(self):
        return ["values_", "scale"], ()

    @classmethod
    def __tensor_unflatten__(cls, inner, context, size, stride):
        return cls(inner["values_"], inner["scale"])

    @classmethod
    def of(cls, weight):
        scale = weight.abs().amax(1, keepdim=True) / 127
        return cls(torch.round(weight / scale).to(torch.int8), scale)

    def dequantize(self):
        return self.values_.to(self.scale.dtype) * self.scale

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is torch.nn.functional.linear:
            x, weight, bias = args
            return func(x, weight.dequantize(), bias)
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **kwargs or {})

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.detach.default:
            return cls(args[0].values_, args[0].scale)
        raise NotImplementedError(str(func))


def make():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))
    for layer in (model[0], model[2]):
        weight = Quantized.of(layer.weight.detach())
        layer.weight = torch.nn.Parameter(weight, requires_grad=False)
    return model


def inputs():
    return (torch.randn(5, 4, requires_grad=True),)
