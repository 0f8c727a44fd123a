"""Programs whose operations take their operands from everywhere, made from seeds.

Arguments, globals, closures, attributes, parameters, buffers, items of lists and dictionaries,
defaults and results of other operations: each tensor holds values of its own, so that one in the
place of another shows. Operations of functions (`cond`, `while_loop`, `map`, `scan`, checkpoints,
`vmap`, `grad`, an `autograd.Function`) occur as often as plain ones, and in one another.

All tensors have three elements, but for those of `rows` in the header, which are rows of three.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable

HEADER = """\
import functools, types
import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint
numbers = torch.Generator().manual_seed({seed})
def made(*size):
    return torch.rand(size or (3,), generator=numbers) + 0.25
g0, g1, g2 = made(), made(), made()
weight = made(3, 3)
rows = [made(4, 3), made(2, 3)]
start = torch.tensor(0)
items = [made(), made(), [made()]]
table = {{"a": made(), "b": {{"c": made()}}, 3: made()}}
held = types.SimpleNamespace(t=made(), inner=types.SimpleNamespace(t=made()), many=[made()])
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.p = torch.nn.Parameter(made())
        self.register_buffer("b", made())
        self.layer = torch.nn.Linear(3, 3)
        with torch.no_grad():
            self.layer.weight.copy_(made(3, 3))
            self.layer.bias.copy_(made())
    def forward(self, v):
        return self.layer(v).tanh() * self.p
net = Net()
other = Net()
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, u, v):
        ctx.save_for_backward(u, v)
        return u * v - u
    @staticmethod
    def backward(ctx, g):
        u, v = ctx.saved_tensors
        return g * (v - 1), g * u
def helper(u, v=g1, *more, k=g2):
    return u * v - sum(more, k)
"""

#: Where an operand may come from, besides the variables in scope.
PLACES = (
    "g0 g1 g2 items[0] items[1] items[2][0] table['a'] table['b']['c'] table[3] held.t "
    "held.inner.t held.many[0] net.p net.b other.p other.b net.layer.bias other.layer.bias "
    "c0 c1 weight[1] rows[0][2]"
).split()


class Generator:
    """Makes one program."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(f"operands {seed}")
        self._seed = seed
        self._names = 0
        self._depth = 0

    def program(self) -> str:
        """Return the text: `make()` in it returns what is called with two tensors and a flag."""
        scope = ["x", "y", "d"]
        lines = []
        for _ in range(self._random.randint(2, 6)):
            name = self._name("v")
            lines.append(f"{name} = {self._value(scope)}")
            scope.append(name)
            if self._random.random() < 0.1:
                lines.append(f"{name} = {name}.clone()")
                lines.append(f"{name} *= {self._operand(scope)}")
        results = ", ".join(scope[3:])
        body = "\n        ".join([*lines, f"return {results},"])
        default = self._random.choice(PLACES[:18])
        return (
            HEADER.format(seed=self._seed + 1)
            + "def make():\n    c0, c1 = made(), made()\n"
            + f"    def fn(x, y, flag, d={default}):\n        {body}\n"
            + "    return fn\n"
        )

    def _name(self, stem: str) -> str:
        self._names += 1
        return f"{stem}{self._names}"

    def _operand(self, scope: list[str]) -> str:
        places = scope if self._random.random() < 0.4 else PLACES
        return self._random.choice(places)

    def _value(self, scope: list[str]) -> str:
        """Return the text of an operation."""
        makers: list[Callable[[list[str]], str]] = [self._plain]
        if self._depth < 3:
            makers += [self._plain, self._called, self._of_functions, self._of_functions]
        self._depth += 1
        text = self._random.choice(makers)(scope)
        self._depth -= 1
        return text

    def _plain(self, scope: list[str]) -> str:
        a, b, c = (self._operand(scope) for _ in range(3))
        return self._random.choice(
            [
                f"({a} * {b})",
                f"({a} - {b})",
                f"({a} - 2 * {b}).sin()",
                f"torch.sub({a}, {b}, alpha=2)",
                f"torch.where({a} > {b}, {c}, {a} + 1)",
                f"torch.stack([{a}, {b}, {c}]).prod(0)",
                f"torch.addcmul({a}, {b}, {c}, value=0.5)",
                f"torch.lerp({a}, {b}, weight={c})",
                f"F.linear({a}, weight, bias={b}).tanh()",
                f"torch.cat(({a}[:1], {b}[1:]))",
                f"({a} @ weight).tanh()",
                f"torch.atan2({a}, other={b})",
            ]
        )

    def _called(self, scope: list[str]) -> str:
        a, b, c = (self._operand(scope) for _ in range(3))
        inner = self._value(scope)
        name = self._name("u")
        return self._random.choice(
            [
                f"helper({a}, {b})",
                f"helper({a}, {b}, {c}, {inner})",
                f"helper({a}, k={inner})",
                f"net({a})",
                f"(lambda {name}, k={b}: {name} * k - {c})({inner})",
                f"functools.partial(helper, {a})({inner})",
                f"sum([t * {a} for t in (items[0], {b}, {inner})])",
                f"({inner} if flag else {a} * {b})",
                f"Twice.apply({a}, {inner})",
            ]
        )

    def _lambda(self, given: int, scope: list[str]) -> tuple[str, list[str]]:
        names = [self._name("u") for _ in range(given)]
        # Scope of a function: what it is given comes up often.
        return f"lambda {', '.join(names)}: ", [*names, *names, *scope]

    def _function(self, given: int, scope: list[str]) -> str:
        """Return a function of `given` tensors that gives a tensor of its own."""
        head, inside = self._lambda(given, scope)
        return f"({head}{self._value(inside)} + {self._operand(inside)})"

    def _of_functions(self, scope: list[str]) -> str:
        return self._random.choice(
            [self._cond, self._cond, self._loop, self._map, self._scan, self._checkpoint]
            + [self._vmap, self._grad]
        )(scope)

    def _cond(self, scope: list[str]) -> str:
        predicate = self._random.choice(
            ["flag", f"{self._operand(scope)}.sum() > {self._operand(scope)}.sum()", "start == 0"]
        )
        given = [self._operand(scope) for _ in range(self._random.randint(1, 3))]
        form = self._random.randrange(3)
        if form == 0:
            # Modules and parts of functions are functions, too.
            yes, no = self._random.sample(["net", "other", "net.forward"], 2)
            return f"cond({predicate}, {yes}, {no}, ({given[0]},))"
        if form == 1:
            yes = f"(lambda o: {self._function(2, scope)}(o[0], o[1]['t']))"
            no = f"(lambda o: o[1]['t'] - o[0] * {self._operand(scope)})"
            operands = f"[{given[0]}, {{'t': {given[-1]}}}],"
            return f"cond({predicate}, {yes}, {no}, ({operands}))"
        yes, no = self._function(len(given), scope), self._function(len(given), scope)
        return f"cond({predicate}, {yes}, {no}, ({', '.join(given)},))"

    def _loop(self, scope: list[str]) -> str:
        name, carried = self._name("i"), self._name("u")
        body = self._function(1, scope)
        limit = self._random.randint(1, 3)
        start = self._random.choice(["start", "torch.tensor(0)"])
        return (
            f"while_loop(lambda {name}, {carried}: {name} < {limit}, lambda {name}, {carried}: "
            f"({name} + 1, {body}({carried}).sin()), ({start}, {self._operand(scope)}))[1]"
        )

    def _map(self, scope: list[str]) -> str:
        rows = self._random.choice(["rows[0]", "rows[1]"])
        if self._random.random() < 0.5:
            return f"map_rows({self._function(1, scope)}, {rows}).sum(0)"
        return f"map_rows({self._function(2, scope)}, {rows}, {self._operand(scope)}).sum(0)"

    def _scan(self, scope: list[str]) -> str:
        carry, row = self._name("u"), self._name("r")
        body = self._function(2, scope)
        each = f"{row} * {self._operand([carry, row, *scope])}"
        return (
            f"sum(scan(lambda {carry}, {row}: ({body}({carry}, {row}).sin(), {each}), "
            f"{self._operand(scope)}, rows[{self._random.randrange(2)}])[1].unbind())"
        )

    def _checkpoint(self, scope: list[str]) -> str:
        a, b = self._operand(scope), self._operand(scope)
        if self._random.random() < 0.5:
            body = f"(lambda o: {self._function(2, scope)}(o[1], o[0]))"
            return f"checkpoint({body}, [{a}, {b}], use_reentrant=False)"
        return f"checkpoint({self._function(2, scope)}, {a}, {b}, use_reentrant=False)"

    def _vmap(self, scope: list[str]) -> str:
        a = self._operand(scope)
        name, batch = self._name("u"), self._name("r")
        inside = f"{batch} * {name} - {self._operand(scope)}"
        return (
            f"torch.vmap(lambda {batch}, {name}: {inside}, in_dims=(0, None))"
            f"(rows[{self._random.randrange(2)}], {a}).sum(0)"
        )

    def _grad(self, scope: list[str]) -> str:
        a, b, c = (self._operand(scope) for _ in range(3))
        u, v = self._name("u"), self._name("u")
        body = f"({u} * {v} - {c}).sin().sum()"
        return self._random.choice(
            [
                f"torch.func.grad(lambda {u}, {v}: {body})({a}, {b})",
                f"torch.func.jacrev(lambda {u}: {u} * {b} - {c})({a}).sum(0)",
            ]
        )


if __name__ == "__main__":
    print(Generator(int(sys.argv[1])).program())
