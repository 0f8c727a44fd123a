"""Functions and modules whose torch.fx graphs ours must reproduce, each with its inputs."""

import enum
import math
import operator

import torch
import torch.nn.functional as F
from torch import nn


class Color(enum.Enum):
    RED = 1


def user_function(x, y=1):
    return x * y


def toy(a, b):
    x = a / (torch.abs(a) + 1)
    return x * b


def all_sorts(a, b, mod_x=3):
    x = torch.abs(a) + b
    y = x.sum(dim=(0, 1), keepdim=True)
    z = operator.getitem(x, (slice(None, 3), ..., None))
    w = F.relu(z, inplace=True)
    q = torch.cat([x, y.expand(4, 4)], dim=0)
    u = x.to(torch.float64)
    unused = torch.add(a, b, alpha=2)
    return (x, {"a": y, "b": q}, w, u, torch.add(input=a, other=float("inf")), 1e-7, -0.0, 1e16)


def operators(a, b):
    x = (a == b) | (a < b) & ~(a > b)
    y = -a @ b**2 // 3 % 7 - +b
    z = operator.iadd(y, 1.5)
    z = operator.imul(z, 2)
    return x, z, (a != b, a <= b, a >= b), [operator.xor(x, x)], 'it\'s "quoted"\n\té\x00\u2028'


def attributes(a, b):
    return a.shape, getattr(a, "dtype"), getattr(a, "T"), a.size(0), a.new_zeros([2, 3])


def numbering(add, add_1):
    add_2 = add + add_1
    relu = F.relu(add_2)
    relu6 = F.relu6(relu)
    return (F.relu(relu6) + 1).relu(), torch.add(relu6, 2)


def nothing(a, b):
    return None


def only_input(a, b):
    return a


def one_tuple(a, b):
    return (a.t(),)


def reserved_names(list, print):
    max = torch.max(list, print)
    return max.float(), torch.sum(max), math.floor(2.5)


def used_twice(a, b):
    c = a + a
    d = c * c
    return d + c, d


def nested(a, b):
    return {"k": [a, (b, {"z": slice(a, None, b)}), torch.device("cpu")]}, Color.RED.value


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.blocks = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.scale = nn.Parameter(torch.full((4,), 2.0))
        self.register_buffer("offset", torch.arange(4.0))

    def forward(self, a, b):
        return self.blocks(self.linear(a) * self.scale + self.offset) @ b


FUNCTIONS = [
    toy,
    all_sorts,
    operators,
    attributes,
    numbering,
    nothing,
    only_input,
    one_tuple,
    reserved_names,
    used_twice,
    nested,
]


def cases():
    """(name, symbolically traced module) pairs."""
    for function in FUNCTIONS:
        yield function.__name__, torch.fx.symbolic_trace(function)
    torch.manual_seed(0)
    yield "Net", torch.fx.symbolic_trace(Net())
    yield "handmade", torch.fx.GraphModule({"x.y": torch.ones(2)}, handmade())


def handmade():
    """What symbolic tracing does not make."""
    graph = torch.fx.Graph()
    x = graph.placeholder("L_x_", type_expr=torch.Tensor)
    n = graph.placeholder("n", default_value=3)
    attribute = graph.get_attr("x.y")
    lt = graph.call_function(torch.ops.aten.add.Tensor, (x, attribute), {"alpha": n})
    graph.call_function(operator.setitem, (lt, 0, 1.0))
    magic = graph.call_method("__add__", (lt, 1))
    method = graph.call_function(torch.Tensor.add, (magic, 1))
    norm = graph.call_function(torch.Tensor.norm, (method,))
    stack = graph.call_function(torch.stack, ([norm, norm],), {"dim": -1})
    device = graph.call_function(torch.device, ("cpu",))
    moved = graph.call_method("to", (stack,), {"device": device, "dtype": torch.float32})
    graph.call_function(user_function, (moved,), {"y": 2})
    graph.call_function(math.sqrt, (2.0,))
    graph.call_function(getattr, (moved, "shape", None))
    graph.output((moved, [x, float("nan"), complex(1, 2), 2**70]))
    return graph


def inputs():
    torch.manual_seed(1)
    return torch.randn(4, 4), torch.randn(4, 4)


def same(left, right):
    """Whether two results are equal, tensors by value."""
    if isinstance(left, torch.Tensor):
        return (
            isinstance(right, torch.Tensor)
            and left.dtype == right.dtype
            and (torch.equal(left, right) or torch.allclose(left, right, equal_nan=True))
        )
    if isinstance(left, (tuple, list)):
        # torch.fx.Interpreter returns its own list and dict classes.
        return (
            isinstance(right, type(left))
            and len(left) == len(right)
            and all(map(same, left, right))
        )
    if isinstance(left, dict):
        return list(left) == list(right) and all(map(same, left.values(), right.values()))
    if isinstance(left, float) and left != left:
        return right != right
    if isinstance(left, slice):
        return same((left.start, left.stop, left.step), (right.start, right.stop, right.step))
    return left == right
