"""An object that is no tensor has a `__torch_function__`: torch's question for it is answered."""

import torch

GRAPHS = 0


class Length:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return "asked"


def fn(x, o):
    y = x + 1
    one = torch.overrides.has_torch_function_unary(o)
    some = torch.overrides.has_torch_function_variadic(x, o)
    none = torch.overrides.has_torch_function((x, 3, None))
    return y, one, some, none, torch.max(o) if one else None


def inputs():
    return [(torch.ones(2), Length()), (torch.ones(2), 4), (torch.ones(2), [1])]
