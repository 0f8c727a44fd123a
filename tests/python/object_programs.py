"""Random programs over what classes, generators and tensors that share memory do: text from a seed.

The functions and classes that a program calls are the same in all programs, but for the places at
which they break the graph: each `BREAK` in them is a graph break in some programs.
"""

from __future__ import annotations

import random
import sys

HEADER = '''\
import collections, contextlib, dataclasses, enum, functools, itertools, operator
import torch
events = []
total = 0
table = {"base": 1}
class Doubled:
    """A data descriptor."""
    def __set_name__(self, owner, name):
        self.name = "_" + name
    def __get__(self, obj, owner=None):
        if obj is None:
            return self
        BREAK
        return obj.__dict__.get(self.name, 1) * 2
    def __set__(self, obj, value):
        events.append(("set", self.name, value))
        BREAK
        obj.__dict__[self.name] = value
    def __delete__(self, obj):
        events.append(("delete", self.name))
        del obj.__dict__[self.name]
class Lazy:
    """A descriptor that gives way to what it stores."""
    def __init__(self, function):
        self.function = function
    def __set_name__(self, owner, name):
        self.name = name
    def __get__(self, obj, owner):
        if obj is None:
            return self
        value = obj.__dict__[self.name] = self.function(obj)
        return value
class Color(enum.IntEnum):
    RED = 1
    BLUE = 2
class Flags(enum.Flag):
    A = 1
    B = 2
Point = collections.namedtuple("Point", "x y", defaults=[7])
@dataclasses.dataclass(order=True)
class Item:
    weight: int
    name: str = "item"
    parts: list = dataclasses.field(default_factory=list, compare=False)
    def __post_init__(self):
        events.append(("made", self.weight))
    def grown(self, by):
        BREAK
        return dataclasses.replace(self, weight=self.weight + by)
@dataclasses.dataclass(frozen=True)
class Key:
    a: int
    b: str = "k"
class Root:
    size = Doubled()
    kind = "root"
    registry = {}
    def __init_subclass__(cls, **options):
        super().__init_subclass__()
        cls.options = options
        Root.registry[cls.__name__] = options
    def __init__(self, n, *rest, **named):
        self.n = n
        self.rest = rest
        self.named = named
    def __getattr__(self, name):
        events.append(("missing", name))
        if name.startswith("auto_"):
            BREAK
            return len(name) + self.n
        raise AttributeError(f"no {name} in {type(self).__name__}")
    def scale(self, t, by=1):
        BREAK
        return t * by + self.n
    def __repr__(self):
        return f"{type(self).__name__}({self.n})"
    def __format__(self, spec):
        return f"<{self.n:{spec or 'd'}}>"
    def __bool__(self):
        return self.n > 0
    def __lt__(self, other):
        return self.n < getattr(other, "n", other)
    def __matmul__(self, other):
        return NotImplemented if isinstance(other, int) else (self.n, other)
    def __rsub__(self, other):
        return other * 10 - self.n
    def __iadd__(self, other):
        self.n += other
        return self
    def __index__(self):
        return self.n
class Left(Root, side="left"):
    kind = "left"
    def scale(self, t, by=2):
        return super().scale(t, by) - 1
    @Lazy
    def slow(self):
        events.append("slow")
        BREAK
        return self.n * 3
class Right(Root, side="right"):
    __slots__ = ("slot",)
    def scale(self, t, *, by=3):
        try:
            return super().scale(t, by)
        finally:
            events.append("right")
    @property
    def area(self):
        BREAK
        return self.n ** 2
    @area.setter
    def area(self, value):
        if value < 0:
            raise ValueError(f"area {value}")
        self.n = value
    @functools.cached_property
    def cached(self):
        events.append("cached")
        return [self.n]
class Both(Left, Right):
    def scale(self, t, by=1):
        return super().scale(t)
    def __setattr__(self, name, value):
        if name == "forbidden":
            raise TypeError("forbidden")
        super().__setattr__(name, value)
    def __call__(self, *args, key=None, **named):
        return len(args), key, sorted(named)
class Bag(dict):
    def __missing__(self, key):
        BREAK
        self[key] = len(self)
        return self[key]
class Stack(list):
    def push(self, value):
        self.append(value)
        return self
    def __getitem__(self, at):
        return super().__getitem__(at)
class Guard:
    """A context manager that may swallow."""
    def __init__(self, *kinds):
        self.kinds = kinds
    def __enter__(self):
        events.append("enter")
        BREAK
        return self
    def __exit__(self, kind, value, tb):
        events.append(("exit", kind and kind.__name__))
        BREAK
        return kind is not None and issubclass(kind, self.kinds)
@contextlib.contextmanager
def counted(items, swallow=False):
    items.append("in")
    try:
        BREAK
        yield items
    except ValueError as e:
        items.append(str(e))
        if not swallow:
            raise
    finally:
        items.append("out")
class Odd(Exception):
    def __init__(self, n):
        super().__init__(f"odd {n}")
        self.n = n
def check(n, t):
    BREAK
    if n % 2:
        raise Odd(n)
    return t + n
def deep(n, t, levels=2):
    try:
        return check(n, t) if levels == 0 else deep(n, t, levels - 1)
    except Odd as e:
        events.append(("deep", levels, e.n))
        if levels == 1:
            raise ValueError(f"level {levels}") from e
        raise
    finally:
        events.append(levels)
def echo(t):
    got = None
    try:
        while True:
            try:
                got = yield t if got is None else t * got
                BREAK
            except KeyError as e:
                events.append(("thrown", e.args))
                got = 2
    finally:
        events.append("echo done")
def chained(n):
    events.append("begin")
    r = yield from inner(n)
    BREAK
    yield r
    return "end"
def inner(n):
    for i in range(n):
        yield i * i
    return n
def counter(start=0):
    count = start
    def up(by=1):
        nonlocal count
        count += by
        BREAK
        return count
    def peek():
        return count
    return up, peek
def spread(a, /, b=2, *c, d, e=5, **f):
    return a, b, c, d, e, sorted(f.items())
def note(value):
    events.append(value)
    return value
def shout(value):
    print("shout", value)
    return value
def bump(by):
    global total
    total += by
    table["base"] = total
    return total
'''

BREAKS = ('print("here")', "int(torch.ones(1).item())", "print(len(events))")
SIGNATURE = "def fn(x, y, n, items, o, bag):"


class Program:
    """One program; the text depends on nothing but the seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        #: The share of the places that break the graph.
        self.broken = self.random.choice((0.0, 0.15, 0.4))
        self.names = 0
        self.depth = 0
        lines: list[str] = []
        for _ in range(self.random.randint(4, 9)):
            lines += self.statement()
        lines.append("return x, y, n, items, o, bag")
        header = "".join(self.placed(line) for line in HEADER.splitlines(True))
        self.text = "\n".join([header, SIGNATURE, *("    " + line for line in lines), ""])

    def placed(self, line: str) -> str:
        """A line of the header, with what its break is in this program."""
        broken = self.random.random() < self.broken
        return line.replace("BREAK", self.random.choice(BREAKS) if broken else "pass")

    def pick(self, *options: str) -> str:
        """One of the options."""
        return self.random.choice(options)

    def fresh(self) -> str:
        """A name that no other variable has."""
        self.names += 1
        return f"v{self.names}"

    def number(self, depth: int = 2) -> str:
        """An expression of an int."""
        if depth == 0 or self.random.random() < 0.2:
            return self.pick("n", "2", "3", "len(items)", "o.n", "total")
        a, b = self.number(depth - 1), self.number(depth - 1)
        return self.pick(
            f"({a} + {b})",
            f"({a} - {b}) % 5",
            f"o.auto_{self.pick('a', 'bcd')}",
            "o.size",
            f"Left({a}).slow",
            f"Right({a}).area",
            f"Both({a}).size",
            f"bag[{self.pick('1', 'n', repr('k'))}]",
            f"(m := {a}) * m % 7",
            f"bump({self.pick('1', 'n % 3')})",
            f"Point({a}).y",
            f"Point(y={a}, x=1)._replace(x={b}).x",
            f"Item({a}).grown({b}).weight",
            f"max({{{a}, {b}, 1}})",
            f"sum({{i: i * {a} for i in range(3)}}.values())",
            f"len({{*items, {a}}})",
            f"(lambda *a, k={a}: k + len(a))(*range({b} % 4))",
            f"functools.reduce(operator.add, range({a} % 4), {b})",
            f"Color(({a}) % 2 + 1)",
            f"(Color.RED + {a})",
            f"[10, 20, 30][Root({a}) if 0 <= {a} < 3 else 0]",
            f"{{Key(1): {a}, Key(2): {b}}}[Key({self.pick('1', '2', '3')})]",
            f"int({a} in {{{b}, 2}})",
            f"dict(zip('ab', ({a}, {b})))['{self.pick('a', 'b', 'c')}']",
            f"next(i for i in itertools.count() if i * i >= {a} % 50)",
            f"({a} - Root({b}))",
            f"spread({a}, {b}, d=1)[1]",
            "x.shape[0]",
            f"int(x.sum().item() > {a})" if self.broken else f"x.dim() + {a}",
            f"note({a})",
            f"shout({a})" if self.broken else f"note({a})",
        )

    def tensor(self, depth: int = 2) -> str:
        """An expression of a tensor of shape (2, 3)."""
        if depth == 0 or self.random.random() < 0.2:
            return self.pick("x", "y", "x", "y", "x[:]", "y.view(2, 3)")
        t, n = self.tensor(depth - 1), self.number(depth - 1)
        return self.pick(
            f"({t} + {n})",
            f"({t} * {self.tensor(depth - 1)})",
            f"o.scale({t})",
            f"Both({n}).scale({t})",
            f"Right({n}).scale({t}, by={n})",
            f"Left({n}).scale({t}, {n})",
            f"Root.scale(o, {t}, by={n})",
            f"deep({n}, {t})",
            f"{t}.t().clone().t()",
            f"torch.stack([{t}, y])[{self.pick('0', '-1')}]",
            f"{t}.relu()",
            f"[{t} for _ in range(2)][-1]",
            f"next(echo({t}))",
            f"({t} if {n} > 2 else y)",
            f"functools.partial(o.scale, by={n})({t})",
            f"operator.methodcaller('scale', {t})(o)",
        )

    def text_of(self) -> str:
        """An expression of a str."""
        n = self.number(1)
        return self.pick(
            f"f'{{{n}:>{{{self.pick('4', 'n % 5')}}}}}|{{o!r:_^9}}'",
            f"f'{{{n}:03d}} {{o:x}} {{{n} / 4:+.2e}}'",
            "f'{o} {n=} {items!s:.5}'",
            f"'{{0.n}} {{1[0]}} {{k:>3}}'.format(o, items or [0], k={n})",
            f"'%(a)s %(b)5.1f' % {{'a': o, 'b': {n}}}",
            "str(Item(n))",
            "repr(Point(n))",
            "repr(Key(n))",
            "str(Color.RED) + repr(Flags.A | Flags.B)",
            "f'{Color.BLUE:>3} {type(o).kind}'",
            "str(sorted(Root.registry.items()))",
            "'-'.join(map(str, items))",
        )

    def error(self) -> str:
        """An exception to raise."""
        return self.pick("ValueError('v')", "KeyError(n)", "Odd(n)", "Odd(3)", "TypeError")

    def block(self) -> list[str]:
        """One or two statements, indented."""
        self.depth += 1
        lines = [line for _ in range(self.random.randint(1, 2)) for line in self.statement()]
        self.depth -= 1
        return ["    " + line for line in lines]

    def statement(self) -> list[str]:
        """Any statement."""
        compound = (self.loop, self.caught, self.context, self.generator, self.match, self.closure)
        if self.depth < 2 and self.random.random() < 0.45:
            return self.random.choice(compound)()
        return self.simple()

    def simple(self) -> list[str]:
        """A statement without a block."""
        n, t, v = self.number(), self.tensor(), self.fresh()
        choices = [
            [f"x = {t}"],
            [f"y = {t}"],
            [f"n = {n}"],
            [f"items.append({self.pick(n, self.text_of())})"],
            [f"events.append({self.text_of()})"],
            [f"o.size = {n}"],
            [f"o.{self.pick('extra', 'n', 'forbidden')} = {n}"],
            ["del o.size"],
            [f"o += {self.pick('1', '2')}"],
            [f"o = {self.pick('Left', 'Right', 'Both')}({n}, 1, k=2)"],
            [f"{v} = Right({n})", f"{v}.area = {n} - 2", f"items.append({v}.cached + {v}.cached)"],
            [f"{v} = Right({n})", f"{v}.slot = x", f"x = {v}.slot + {v}.n"],
            [f"bag[{n}] = {self.pick(n, t)}"],
            [f"bag.setdefault('t', []).append({n})"],
            [f"{v}, *rest = [{n}, *items, 1]", f"items.append(({v}, len(rest)))"],
            [f"items[:1] = {{k: {n} for k in range(2)}}"],
            [f"items.append(spread({n}, *items[:2], d=n, **{{'z': 1, 'y': {n}}}))"],
            [f"items.append(Both(1)(*items, key={n}, **dict(a=1)))"],
            [f"items.append(sorted([Item({n}), Item(2, 'b')])[0].weight)"],
            [f"items.append(Item({n}) == Item(2) or Item(1) < Item({n}))"],
            [f"items.append(o @ {self.pick('n', 'items[:1]')})"],
            [f"items.append(Stack([1]).push({n})[-1])"],
            [f"items.append({{(i, j) for i in range(2) for j in range({n} % 3)}})"],
            [f"x.{self.pick('add_', 'mul_', 'sub_')}({n})"],
            [f"{v} = x[{self.pick('0', ':, 1', '..., :2')}]", f"{v} += {n}"],
            [f"{v} = {self.pick('x', 'y')}.view(-1)", f"{v}[{self.pick('0', '1:3')}] = {n}"],
            [f"{v} = x.t()", f"{v}.mul_(2)", f"x = x + {v}.t()"],
            [f"y[{self.pick('0', ':, 0', 'y > 1')}] = {self.pick('1', '0.5')}"],
            [f"{v} = x", "x += 1", f"items.append({v} is x)"],
            ["x, y = y, x"],
            [f"table['t'] = {t}"],
            [f"if {n} > 3: return {t}, n"],
            [f"if {n} > 4: raise {self.error()}"],
            [f"assert {n} < 9, {self.text_of()}"],
            [f"items.extend(sorted(bag, key=str)[:{n}])"],
            [f"n = o.{self.pick('nothing', 'auto_x', 'slow', 'area', 'size', 'rest')}"],
        ]
        if self.broken:
            choices += [[self.random.choice(BREAKS)]] * 3
            choices += [[f"items.append({t}.sum().item() > 0)"], [f"if {t}.sum() > 1: n = 1"]]
        return self.random.choice(choices)

    def loop(self) -> list[str]:
        """`for` with `break`, `continue` and `else`."""
        i, v = self.fresh(), self.fresh()
        head = self.pick(
            f"for {i} in range({self.pick('2', 'n % 4')}):",
            f"for {i}, {v} in enumerate(items[:2]):",
            f"for {i}, {v} in sorted(bag.items(), key=str)[:2]:",
            f"for {i}, {v} in zip(range(3), chained(2)):",
            f"for {i} in {{1: 2, 3: 4}}:",
            f"for {i} in reversed([1, 2]):",
            f"for {i} in map(note, (1, 2)):",
            f"for {i} in itertools.islice(itertools.cycle('ab'), 3):",
        )
        lines = [head, *self.block()]
        if self.random.random() < 0.4:
            word = self.pick("break", "continue")
            lines += [f"    if {self.number(1)} > 2: {word}", *self.block()]
        if self.random.random() < 0.3:
            lines += ["else:", *self.block()]
        return lines

    def caught(self) -> list[str]:
        """`try` with handlers."""
        lines = ["try:", *self.block()]
        if self.random.random() < 0.5:
            lines.append("    " + self.pick(f"raise {self.error()}", "deep(3, x)", "items[99]"))
        for kind in self.random.sample(["ValueError", "(KeyError, Odd)", "Exception"], 2):
            lines += [f"except {kind} as e:", "    events.append((type(e).__name__, e.args))"]
            lines += ["    events.append(type(e.__cause__).__name__)"]
            lines += self.block()
            if self.random.random() < 0.2:
                lines.append("    " + self.pick("raise", "raise Odd(1) from e"))
            if kind == "Exception":
                break
        if self.random.random() < 0.3:
            lines += ["else:", *self.block()]
        if self.random.random() < 0.4:
            lines += ["finally:", *self.block()]
        return lines

    def context(self) -> list[str]:
        """`with`."""
        head = self.pick(
            "Guard()",
            "Guard(KeyError, Odd)",
            "Guard(Exception) as g",
            "counted(events)",
            "counted(items, True) as g, Guard(Odd)",
            "torch.no_grad(), Guard(KeyError)",
            "contextlib.suppress(KeyError, ValueError)",
        )
        lines = [f"with {head}:", *self.block()]
        if self.random.random() < 0.4:
            lines.append("    " + self.pick(f"raise {self.error()}", "x = deep(1, x)"))
        return lines

    def generator(self) -> list[str]:
        """A generator, used in some way."""
        g = self.fresh()
        return self.random.choice(
            [
                [f"{g} = echo(x)", f"x = next({g})", f"y = {g}.send({self.number(1)})"],
                [f"{g} = echo(y)", f"next({g})", f"x = {g}.throw(KeyError('t'))", f"{g}.close()"],
                [f"{g} = chained({self.number(1)} % 4)", f"items.append(next({g}))"]
                + [line[4:] for line in self.block()]
                + [f"items.append(list({g}))"],
                [
                    f"{g} = (i * {self.number(1)} for i in items if i)",
                    f"items.append(len(list({g})))",
                ],
                [f"{g} = chained(2)", f"items.extend({g})", f"items.append(next({g}, 'over'))"],
                [f"for {g} in chained(2):", f"    x = x + {g}", *self.block()],
            ]
        )

    def match(self) -> list[str]:
        """`match`."""
        subject = self.pick("o", "Point(n, 1)", "items", "dict(bag)", "(n, x)", "Item(n)", "n")
        return [
            f"match {subject}:",
            "    case Point(x=1 | 2 as k, y=1):",
            "        items.append(k)",
            "    case Left(n=k) | Item(weight=k) if k > 1:",
            "        n = k",
            "    case {'t': [k, *_], **more}:",
            "        items.append((k, len(more)))",
            "    case [int(k), *_, last]:",
            "        items.append((k, last))",
            "    case (k, torch.Tensor()):",
            "        y = y + k",
            "    case 1 | Color.BLUE:",
            *["    " + line for line in self.block()],
            "    case _:",
            *["    " + line for line in self.block()],
        ]

    def closure(self) -> list[str]:
        """A nested function, used."""
        f = self.fresh()
        use = self.pick(f"n = {f}(n)", f"n = {f}({f}(1))", f"items.append(list(map({f}, (1, 2))))")
        return self.random.choice(
            [
                [
                    f"up, peek = counter({self.number(1)})",
                    "up()",
                    f"n = up({self.number(1)}) + peek()",
                ],
                [
                    f"def {f}(k, scale={self.number(1)}):",
                    "    items.append(k)",
                    f"    return k * scale + {self.pick('n', 'o.n', 'len(items)')}",
                    use,
                ],
                [
                    f"def {f}(k):",
                    "    def again():",
                    "        return k + n",
                    f"    {self.random.choice(BREAKS) if self.broken else 'pass'}",
                    "    return again()",
                    use,
                ],
                [
                    f"{f} = [lambda k, i=i: k + i for i in range(2)]",
                    f"n = {f}[-1]({self.number(1)})",
                ],
            ]
        )


if __name__ == "__main__":
    print(Program(int(sys.argv[1])).text)
