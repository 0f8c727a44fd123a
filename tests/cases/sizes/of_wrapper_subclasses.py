"""Sizes of a wrapper subclass's tensors that change, and of what it holds, are no constants."""

import torch
from torch.utils._pytree import tree_map

# For each kind one for the first size, one for all others; a number that is no size is compared.
GRAPHS = 7
SNAPSHOT = False
REFERENCE_WRONG = "raises AssertionError for a size that is a sum of sizes"


class Packed(torch.Tensor):
    """Halves of each row, one scale a row, and a number that is that of the rows at first."""

    @staticmethod
    def __new__(cls, halves, scales, number, rows):
        size = (halves[0].shape[0], halves[0].shape[1] + halves[1].shape[1])
        return torch.Tensor._make_wrapper_subclass(cls, size, dtype=torch.float32)

    def __init__(self, halves, scales, number, rows):
        self.left, self.right = halves
        self.scales, self.number, self.rows = scales, number, rows

    def __tensor_flatten__(self):
        return ["left", "right", "scales"], (self.number, self.rows)

    @staticmethod
    def __tensor_unflatten__(inner, context, size, stride):
        halves = inner["left"], inner["right"]
        return Packed(halves, inner["scales"], context[0], size[0])

    __torch_function__ = torch._C._disabled_torch_function_impl

    def plain(self):
        return torch.cat((self.left, self.right), 1) * self.scales.unsqueeze(1)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def plain(v):
            return v.plain() + v.number if isinstance(v, Packed) else v

        return func(*tree_map(plain, args), **tree_map(plain, kwargs or {}))


class Pair(torch.Tensor):
    @staticmethod
    def __new__(cls, a, b):
        return torch.Tensor._make_wrapper_subclass(
            cls, a.shape, dtype=a.dtype, requires_grad=a.requires_grad
        )

    def __init__(self, a, b):
        self.a, self.b = a, b

    def __tensor_flatten__(self):
        return ["a", "b"], None

    @staticmethod
    def __tensor_unflatten__(inner, context, size, stride):
        return Pair(inner["a"], inner["b"])

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def run(name):
            held = [getattr(v, name) if isinstance(v, Pair) else v for v in args]
            return func(*held, **kwargs or {})

        return Pair(run("a"), run("b"))


def fn(x, w):
    n = x.shape[0]
    return x @ w, x.sum(0) + n, x.view(n * x.shape[1]).sin(), x.transpose(0, 1)


def packed(n, m, number):
    halves = torch.ones(n, m), torch.arange(n * m, dtype=torch.float32).view(n, m)
    return Packed(halves, torch.arange(float(n)), number, n), torch.ones(2 * m, 3)


def pair(n, m):
    a = torch.arange(n * m, dtype=torch.float32).view(n, m)
    return Pair(a, a + 1), torch.ones(m, 3)


def calls():
    sizes = [(3, 4), (5, 2), (7, 8), (2, 6)]
    made = [packed(n, m, 3) for n, m in sizes]
    made += [packed(5, 4, 5), packed(6, 4, 5), packed(6, 4, 3)]
    made += [pair(n, m) for n, m in sizes]
    nested = [Pair(pair(n, m)[0], pair(n, m)[0]) for n, m in sizes]
    return made + [(x, torch.ones(x.shape[1], 3)) for x in nested]
