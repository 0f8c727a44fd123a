"""Random programs: text from a seed, the same on every Python.

Each program defines `fn` over tensors, numbers, strings, lists, dicts and an object, and calls
for it. Expressions are typed, so that most programs run to their end; some statements raise on
purpose, and everything that a program does can be observed by the one who calls it.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable

HEADER = """\
import functools, math, sys
import torch
import torch.nn.functional as F
from contextlib import contextmanager
state = {"calls": 0}
log = []
total = 0
class Base:
    scale = 2
    def twist(self, v, k=1):
        return v * k + self.count
class O(Base):
    def __init__(self, count=0):
        self.count = count
        self.last = None
        self.seen = []
    def twist(self, v, k=3):
        self.count += 1
        return super().twist(v, k) - self.scale
    @property
    def double(self):
        return self.count * 2
    @double.setter
    def double(self, value):
        self.count = value // 2
    @staticmethod
    def fixed(a, b=2):
        return a + b
    @classmethod
    def make(cls, n):
        return cls(n)
    def __len__(self):
        return self.count % 4
    def __getitem__(self, k):
        return self.count + k
    def __eq__(self, other):
        return isinstance(other, O) and self.count == other.count
    def __hash__(self):
        return 5
    def __add__(self, other):
        return self.count + other
    def __iter__(self):
        return iter([self.count, 1])
    def __call__(self, v, *a, **k):
        return v + len(a) + len(k)
    def __contains__(self, v):
        return v == self.count
    def __enter__(self):
        self.seen.append("in")
        return self
    def __exit__(self, kind, value, tb):
        self.seen.append("out" if kind is None else kind.__name__)
        return kind is KeyError
class Mine(Exception):
    def __init__(self, text, n=0):
        super().__init__(text)
        self.n = n
def helper(a, b=2, *rest, c=1, **more):
    return a * b + c + len(rest) + len(more)
def outside(v):
    sys.stdout.write(f"outside {type(v).__name__}\\n")
    return v
def bump(n, by=1):
    global total
    total += by
    state["calls"] += n
    return total
def risky(n, t):
    if n % 3 == 0:
        raise Mine(f"risky {n}", n)
    if n % 3 == 1:
        raise KeyError(n)
    return t + n
def gen(n, t):
    try:
        for i in range(n % 4):
            got = yield t + i
            log.append(i if got is None else got)
    finally:
        log.append("closed")
    return n
def pairs(n):
    yield 0, n
    yield from ((i, i * n) for i in range(n % 3))
@contextmanager
def managed(items):
    items.append(1)
    try:
        yield len(items)
    finally:
        items.append(2)
def decorate(f):
    @functools.wraps(f)
    def inner(*args, **kwargs):
        state["calls"] += 1
        return f(*args, **kwargs)
    return inner
@decorate
def decorated(t, k=2):
    return torch.sin(t) * k
def fact(n):
    return 1 if n <= 1 else n * fact(n - 1)
"""

SIGNATURE = "def fn(x, y, n, s, items, table, o, flag=True):"
FOOTER = "return x, y, n, s, items, table, o, flag"
TYPES = ("tensor", "int", "bool", "str", "list", "dict", "float", "tensors", "func")


class Generator:
    """One program; the text depends on nothing but the seed."""

    def __init__(self, seed: int, breaks: bool = True, size: int = 9) -> None:
        self.random = random.Random(seed)
        self.breaks = breaks
        self.size = size
        self.names = 0
        self.loops = 0
        self.depth = 0
        self.functions = 0
        self.env: list[dict[str, list[str]]] = [
            {
                "tensor": ["x", "y"],
                "int": ["n"],
                "bool": ["flag"],
                "str": ["s"],
                "list": ["items"],
                "dict": ["table"],
                "float": [],
                "tensors": [],
                "func": [],
            }
        ]

    # Choices

    def pick(self, *options: object) -> str:
        """One of the options; a callable one is called."""
        option = self.random.choice(options)
        return option() if callable(option) else str(option)

    def chance(self, share: float) -> bool:
        """True in the given share of cases."""
        return self.random.random() < share

    def fresh(self, prefix: str) -> str:
        """A name that no other variable has."""
        self.names += 1
        return f"{prefix}{self.names}"

    def variables(self, kind: str) -> list[str]:
        """Names in scope of one type."""
        return [name for scope in self.env for name in scope.get(kind, [])]

    def declare(self, kind: str, name: str) -> None:
        """Adds a name to the innermost scope."""
        self.env[-1].setdefault(kind, []).append(name)

    # Expressions

    def expr(self, kind: str, depth: int = 2) -> str:
        """An expression of a type."""
        names = self.variables(kind)
        if names and (depth <= 0 or self.chance(0.3)):
            return self.random.choice(names)
        return getattr(self, f"_{kind}")(depth - 1)

    def _int(self, d: int) -> str:
        if d < 0:
            return self.pick("0", "1", "2", "3", "-1", "7")
        i = lambda: self.expr("int", d)
        t = lambda: self.expr("tensor", d)
        options: list[Callable[[], str]] = [
            lambda: self.pick("0", "1", "2", "5", "-2"),
            lambda: f"({i()} {self.pick('+', '-', '*', '&', '|', '^')} {i()})",
            lambda: f"({i()} {self.pick('//', '%')} {self.pick('2', '3', '-4', '7')})",
            lambda: f"(-{i()})",
            lambda: f"abs({i()})",
            lambda: f"len({self.expr(self.pick('list', 'dict', 'str', 'tensors'), d)})",
            lambda: f"{self.pick('min', 'max')}({i()}, {i()})",
            lambda: f"sum({self.expr('list', d)})",
            lambda: f"sum(v for v in {self.expr('list', d)} if v {self.pick('>', '<')} {i()})",
            lambda: f"{t()}.dim()",
            lambda: f"{t()}.shape[{self.pick('0', '-1')}]",
            lambda: f"{t()}.numel()",
            lambda: f"{self.expr('dict', d)}.get({self.key()}, {i()})",
            lambda: f"({i()} if {self.expr('bool', d)} else {i()})",
            lambda: "o.count",
            lambda: "o.double",
            lambda: "(o + 1)",
            lambda: f"o[{i()}]",
            lambda: "len(o)",
            lambda: f"O.make({i()}).count",
            lambda: f"O.fixed({i()})",
            lambda: f"helper({i()}, {i()})",
            lambda: f"helper({i()}, c={i()}, q=1)",
            lambda: f"helper(*({i()}, 1, 2), **{{'z': {i()}}})",
            lambda: f"bump({i()})",
            lambda: f"int({self.expr('bool', d)})",
            lambda: f"int({self.expr('float', d)})",
            lambda: f"divmod({i()}, 3)[{self.pick('0', '1')}]",
            lambda: f"(lambda v, k={i()}: v * k - n)({i()})",
            lambda: f"{self.expr('str', d)}.count('a')",
            lambda: f"getattr(o, {self.pick(repr('count'), repr('nope'))}, {i()})",
            lambda: f"fact({i()} % 4)",
            lambda: "total",
            lambda: "state['calls']",
            lambda: f"functools.reduce(lambda a, b: a - b, {self.expr('list', d)}, {i()})",
            lambda: f"next(iter({self.expr('list', d)}), {i()})",
            lambda: f"({self.walrus(i())} + 1)",
            lambda: f"sum(a * b for a, b in pairs({i()}))",
            lambda: f"[*{self.expr('list', d)}, {i()}][-1]",
            lambda: f"{self.expr('list', d)}[{self.pick('0', '-1', '1', '7')}]",
            lambda: f"{self.expr('dict', d)}[{self.key()}]",
            lambda: f"hash({i()} % 10)",
            lambda: f"ord({self.expr('str', d)}[:1] or 'q')",
            lambda: f"({i()} ** 2 % 11)",
            lambda: f"({i()} << 1) % 64",
            lambda: f"{self.expr('list', d)}.index({i()})",
            lambda: f"round({self.expr('float', d)})",
            lambda: f"len(set({self.expr('list', d)}))",
        ]
        if self.breaks:
            options += [
                lambda: f"int({t()}.sum().item() > {i()})",
                lambda: f"outside({i()})",
            ]
        if functions := self.variables("func"):
            options += [lambda: f"{self.random.choice(functions)}({i()})"] * 5
        return self.random.choice(options)()

    def walrus(self, value: str) -> str:
        """An assignment expression, or just the value inside a comprehension's scope."""
        return f"(n := {value})" if self.functions == 0 else value

    def key(self) -> str:
        """A key of a dict."""
        return self.pick("'a'", "'b'", "'k'", "s", f"str({self.pick('n', '1', 'len(items)')})")

    def _float(self, d: int) -> str:
        if d < 0:
            return self.pick("0.5", "1.5", "-2.25")
        return self.pick(
            "0.25",
            lambda: f"({self.expr('int', d)} / {self.pick('2', '4', '5')})",
            lambda: f"float({self.expr('int', d)})",
            lambda: f"math.sqrt(abs({self.expr('int', d)}))",
            lambda: f"({self.expr('float', d)} {self.pick('+', '*', '-')} {self.expr('int', d)})",
            lambda: f"round({self.expr('float', d)}, 1)",
            lambda: f"math.floor({self.expr('float', d)})",
            lambda: f"float('{self.pick('1.5', '-0.0', 'inf')}')",
        )

    def _bool(self, d: int) -> str:
        if d < 0:
            return self.pick("True", "False", "n > 1", "not items")
        i = lambda: self.expr("int", d)
        b = lambda: self.expr("bool", d)
        t = lambda: self.expr("tensor", d)
        options: list[Callable[[], str]] = [
            lambda: f"{i()} {self.pick('<', '>', '==', '!=', '<=')} {i()}",
            lambda: f"{i()} < {i()} <= {i()}",
            lambda: f"(not {b()})",
            lambda: f"({b()} {self.pick('and', 'or')} {b()})",
            lambda: f"bool({self.expr(self.pick('list', 'dict', 'str', 'int'), d)})",
            lambda: f"({i()} {self.pick('in', 'not in')} {self.expr('list', d)})",
            lambda: f"({self.key()} in {self.expr('dict', d)})",
            lambda: f"({i()} in o)",
            lambda: (
                f"isinstance({self.expr(self.random.choice(TYPES[:6]), d)}, "
                f"{self.pick('int', 'str', '(list, dict)', 'torch.Tensor', 'O')})"
            ),
            lambda: f"{self.pick('any', 'all')}(v > {i()} for v in {self.expr('list', d)})",
            lambda: f"({self.expr('str', d)} {self.pick('==', '<', '!=')} {self.expr('str', d)})",
            lambda: f"{self.expr('str', d)}.startswith('a')",
            lambda: "(o.last is None)",
            lambda: "(x is y)",
            lambda: f"(o == O({i()}))",
            lambda: f"{t()}.is_contiguous()",
            lambda: f"{t()}.shape == {t()}.shape",
            lambda: f"({self.expr('list', d)} == {self.expr('list', d)})",
            lambda: f"({self.expr('list', d)} < {self.expr('list', d)})",
            lambda: f"hasattr(o, {self.pick(repr('count'), repr('extra'))})",
            lambda: f"callable({self.pick('o', 'helper', 'n')})",
            lambda: f"torch.is_tensor({self.pick('x', 'n')})",
            lambda: "torch.is_grad_enabled()",
            lambda: f"({self.expr('dict', d)} == {self.expr('dict', d)})",
        ]
        if self.breaks:
            options += [
                lambda: f"bool({t()}.sum() {self.pick('>', '<')} {i()})",
                lambda: f"({t()}.mean() > 0)",
                lambda: f"torch.equal({t()}, {t()})",
            ]
        return self.random.choice(options)()

    def _str(self, d: int) -> str:
        if d < 0:
            return self.pick("'a'", "'bc'", "''")
        i = lambda: self.expr("int", d)
        t = lambda: self.expr("str", d)
        return self.pick(
            "'abc'",
            lambda: (
                f"f'{{{i()}}}-{{{self.expr('float', d)}:.2f}}'".replace("''", '""')
                if self.chance(0)
                else f"'%d-%s' % ({i()}, {t()})"
            ),
            lambda: "f'{n}:{s!r:>5}{len(items):03d}'",
            lambda: "f'{n=} {o.count:+}'",
            lambda: f"str({i()})",
            lambda: f"str({self.expr('list', d)})",
            lambda: f"repr({self.expr('dict', d)})",
            lambda: f"{t()}.upper()",
            lambda: f"{t()}.replace('a', {t()})[:9]",
            lambda: f"({t()} + {t()})[-6:]",
            lambda: f"','.join(str(v) for v in {self.expr('list', d)})",
            lambda: f"'{{}}/{{}}'.format({i()}, {t()})",
            lambda: f"({t()} * {self.pick('2', 'n')})[:8]",
            lambda: f"str({self.expr('tensor', d)}.dtype)",
            lambda: f"str(tuple({self.expr('tensor', d)}.shape))",
            lambda: f"{t()}[::-1]",
            lambda: f"type({self.expr(self.random.choice(TYPES[:6]), d)}).__name__",
            lambda: f"({t()} or {t()})",
        )

    def _list(self, d: int) -> str:
        if d < 0:
            return self.pick("[1, 2]", "[]", "[n]", "[3, 1, 2]")
        i = lambda: self.expr("int", d)
        t = lambda: self.expr("list", d)
        self.functions += 1
        try:
            inner = self.expr("int", d)
            test = self.expr("bool", d)
        finally:
            self.functions -= 1
        return self.pick(
            lambda: f"[{i()}, {i()}]",
            lambda: f"[{i()}, *{t()}]",
            lambda: f"[v * {inner} for v in {t()}]",
            lambda: f"[{inner} + v for v in {t()} if {test}]",
            lambda: f"[a + b for a in {t()} for b in range(2)]",
            lambda: f"[[v, {inner}][0] for v in range(3)]",
            lambda: f"({t()} + {t()})",
            lambda: f"list(range({i()} % 4))",
            lambda: f"sorted({t()}, reverse={self.expr('bool', d)})",
            lambda: f"sorted({t()}, key=lambda v: -v % 5)",
            lambda: f"list(map(lambda v: v + {inner}, {t()}))",
            lambda: f"list(filter(lambda v: v > {inner}, {t()}))",
            lambda: f"{t()}[{self.pick('1:', ':-1', '::2', '::-1', ':')}]",
            lambda: f"list(reversed({t()}))",
            lambda: f"[a * b for a, b in zip({t()}, {t()})]",
            lambda: f"[k + v for k, v in enumerate({t()})]",
            lambda: f"list({self.expr('dict', d)}.values())",
            lambda: f"list({t()})",
            lambda: f"{t()}.copy()",
            lambda: f"({t()} * 2)[:6]",
            lambda: "list(o)",
            lambda: "o.seen[:0] + [len(o.seen)]",
            lambda: f"list({{*{t()}, 1}})[:0]",
            lambda: f"list(dict.fromkeys({t()}))",
            lambda: f"(lambda *a: list(a))(*{t()})",
            lambda: f"[len(p) for p in {self.expr('dict', d)}]",
        )

    def _dict(self, d: int) -> str:
        if d < 0:
            return self.pick("{}", "{'a': 1}", "{'k': n, 'b': 2}")
        i = lambda: self.expr("int", d)
        t = lambda: self.expr("dict", d)
        self.functions += 1
        try:
            inner = self.expr("int", d)
        finally:
            self.functions -= 1
        return self.pick(
            lambda: f"{{{self.key()}: {i()}, 'z': {i()}}}",
            lambda: f"{{**{t()}, {self.key()}: {i()}}}",
            lambda: f"{{str(v): v + {inner} for v in {self.expr('list', d)}}}",
            lambda: f"dict({t()}, a={i()})",
            lambda: f"({t()} | {t()})",
            lambda: f"dict(zip('abk', {self.expr('list', d)}))",
            lambda: f"{{k: v for k, v in {t()}.items() if v > {inner}}}",
            lambda: f"dict(sorted({t()}.items()))",
            lambda: f"{t()}.copy()",
            lambda: f"(lambda **k: k)(**{t()})",
        )

    def _tensors(self, d: int) -> str:
        t = lambda: self.expr("tensor", d)
        return self.pick(
            lambda: f"[{t()}, {t()}]",
            lambda: f"[{t()}]",
            lambda: f"[x * v for v in {self.expr('list', d)}]",
            lambda: f"list(gen({self.expr('int', d)}, {t()}))",
            lambda: f"list({t()}.unbind(0))[:0] + [{t()}]",
            lambda: f"list(torch.stack([{t()}, {t()}]).unbind(0))",
        )

    def _func(self, d: int) -> str:
        return self.pick(
            lambda: f"(lambda v, k={self.expr('int', d)}: v + k)",
            lambda: "(lambda v: v * n)",
            lambda: "o.twist",
            lambda: "functools.partial(helper, b=n)",
            lambda: "O.fixed",
            lambda: "o",
            lambda: "(lambda v: helper(v, *items[:1]))",
        )

    def _tensor(self, d: int) -> str:
        if d < 0:
            return self.pick("x", "y")
        i = lambda: self.expr("int", d)
        t = lambda: self.expr("tensor", d)
        options: list[Callable[[], str]] = [
            lambda: f"({t()} {self.pick('+', '-', '*')} {t()})",
            lambda: f"({t()} {self.pick('+', '-', '*')} {i()})",
            lambda: f"({i()} {self.pick('+', '-', '*')} {t()})",
            lambda: f"({t()} * {self.expr('float', d)})",
            lambda: f"torch.{self.pick('relu', 'sin', 'tanh', 'sigmoid', 'abs', 'neg')}({t()})",
            lambda: f"{t()}.{self.pick('relu', 'cos', 'exp', 'clone', 'detach', 'contiguous')}()",
            lambda: f"(-{t()})",
            lambda: f"{t()}.clamp(-3, 3)",
            lambda: f"torch.where({t()} > 0, {t()}, {t()})",
            lambda: f"({t()} > {i()}).float()",
            lambda: f"{t()}.sum({self.pick('0', '-1')}, keepdim=True).expand(2, 3)",
            lambda: f"({t()} - {t()}.mean())",
            lambda: f"({t()} @ {t()}.t() @ {t()})",
            lambda: f"{t()}.t().t()",
            lambda: f"{t()}.reshape(-1).view(2, 3)",
            lambda: f"{t()}.flip(0)",
            lambda: f"torch.cat([{t()}, {t()}], 0)[{self.pick(':2', '2:', '::2')}]",
            lambda: f"torch.stack([{t()}, {t()}]).{self.pick('mean', 'sum')}(0)",
            lambda: f"F.{self.pick('relu', 'gelu', 'silu')}({t()})",
            lambda: f"F.softmax({t()}, dim=-1)",
            lambda: f"F.dropout({t()}, 0.5, training={self.expr('bool', d)})",
            lambda: f"torch.{self.pick('zeros_like', 'ones_like', 'rand_like')}({t()})",
            lambda: f"torch.{self.pick('zeros', 'ones', 'randn')}(2, 3)",
            lambda: f"torch.full((2, 3), {i()}) * {t()}",
            lambda: f"torch.tensor({i()}) + {t()}",
            lambda: f"helper({t()}, {i()})",
            lambda: f"helper(b={t()}, a={t()}, c={i()})",
            lambda: f"o.twist({t()})",
            lambda: f"o({t()}, 1, q={i()})",
            lambda: f"decorated({t()}, k={i()})",
            lambda: f"sum({self.expr('tensors', d)}, {t()})",
            lambda: f"({t()} if {self.expr('bool', d)} else {t()})",
            lambda: f"[{t()}, {t()}][{i()} % 2]",
            lambda: f"{{'p': {t()}, 'q': {t()}}}[{self.pick(repr('p'), repr('q'))}]",
            lambda: f"max({i()}, 1) * {t()}",
            lambda: f"(lambda v: v * {i()} + n)({t()})",
            lambda: f"{t()}[{self.pick('...', ':', '[0, 1]', 'torch.tensor([1, 0])')}]",
            lambda: f"{t()}[0].expand(2, 3)",
            lambda: f"{t()}.chunk(2, 0)[0].repeat(2, 1)",
            lambda: f"{t()}.max(0, keepdim=True).values.expand(2, 3)",
            lambda: f"{t()}.to({self.pick('torch.float32', 'x.dtype', 'y')})",
            lambda: f"{t()}.masked_fill({t()} > 0, {i()})",
            lambda: f"{t()}.new_{self.pick('zeros', 'ones')}(2, 3)",
            lambda: f"torch.arange(6).view(2, 3) + {t()}",
            lambda: f"(o.last if isinstance(o.last, torch.Tensor) else {t()})",
        ]
        if self.breaks:
            options += [lambda: f"outside({t()})", lambda: f"risky({i()}, {t()})"]
        if functions := self.variables("func"):
            options += [lambda: f"{self.random.choice(functions)}({t()})"] * 4
        return self.random.choice(options)()

    # Statements

    def block(self, count: int | None = None) -> list[str]:
        """Statements in a scope of their own, indented."""
        self.env.append({})
        self.depth += 1
        lines: list[str] = []
        for _ in range(count or self.random.randint(1, 3)):
            lines += self.statement()
        self.depth -= 1
        self.env.pop()
        return ["    " + line for line in lines]

    def assign(self) -> list[str]:
        """Sets a variable, old or new."""
        kind = self.random.choice(("tensor", "tensor", "tensor", "int", "int", *TYPES))
        value = self.expr(kind, 3)
        names = self.variables(kind)
        if names and (self.chance(0.6) or self.depth > 2):
            return [f"{self.random.choice(names)} = {value}"]
        name = self.fresh(kind[0])
        self.declare(kind, name)
        return [f"{name} = {value}"]

    def mutate(self) -> list[str]:
        """Changes something in place."""
        i = lambda: self.expr("int")
        t = lambda: self.expr("tensor")
        a_list = self.random.choice(self.variables("list"))
        a_dict = self.random.choice(self.variables("dict"))
        a_tensor = self.random.choice(self.variables("tensor"))
        an_int = self.random.choice(self.variables("int"))
        return [
            self.pick(
                lambda: f"{a_list}.append({i()})",
                lambda: f"{a_list}.insert({i()}, {i()})",
                lambda: f"{a_list}.extend({self.expr('list')})",
                lambda: f"{a_list} += {self.expr('list')}",
                lambda: f"{a_list}[{self.pick('0', '-1')}] = {i()}",
                lambda: f"{a_list}[{self.pick('1:', ':1', '::2')}] = {self.expr('list')}",
                lambda: f"{a_list}.{self.pick('reverse', 'sort', 'clear', 'pop')}()",
                lambda: f"del {a_list}[{self.pick('0', '1:', '-1')}]",
                lambda: f"{a_list}.remove({i()})",
                lambda: f"{a_dict}[{self.key()}] = {i()}",
                lambda: f"{a_dict}.update({self.expr('dict')})",
                lambda: f"{a_dict}.setdefault({self.key()}, {i()})",
                lambda: f"{an_int} = {a_dict}.pop({self.key()}, {i()})",
                lambda: f"del {a_dict}[{self.key()}]",
                lambda: f"{a_dict} |= {self.expr('dict')}",
                lambda: f"{a_tensor}.{self.pick('add_', 'mul_')}({self.pick(i, t)})",
                lambda: f"{a_tensor} {self.pick('+=', '*=', '-=')} {self.pick(i, t)}",
                lambda: f"{a_tensor}[{self.pick('0', ':, 1', '...')}] = {i()}",
                lambda: f"{a_tensor}.copy_({t()})",
                lambda: f"{a_tensor}.zero_()",
                lambda: f"{an_int} {self.pick('+=', '-=', '*=', '//=')} {self.pick('2', i)}",
                lambda: f"o.count {self.pick('+=', '=')} {i()}",
                lambda: f"o.double = {i()}",
                lambda: f"o.last = {self.expr(self.random.choice(TYPES[:6]))}",
                lambda: f"o.seen.append({i()})",
                lambda: f"setattr(o, {self.pick(repr('count'), repr('extra'))}, {i()})",
                lambda: f"state['calls'] += {i()}",
                lambda: f"state[{self.key()}] = {i()}",
                lambda: f"log.append({self.expr(self.random.choice(TYPES[:6]))})",
                lambda: f"x, y = {self.pick('y, x', 'y * 1, x', lambda: f'{t()}, {t()}')}",
                lambda: f"{an_int}, *{a_list} = {self.expr('list')}",
                lambda: f"{an_int}, s = {i()}, {self.expr('str')}",
                lambda: f"O.scale = {self.pick('2', '3')}",
                lambda: f"O(2).twist({i()})",
                lambda: f"bump({i()}, by={i()})",
            )
        ]

    def statement(self) -> list[str]:
        """One statement, perhaps a compound one."""
        deep = self.depth >= 3
        options: list[Callable[[], list[str]]] = [self.assign] * 6 + [self.mutate] * 7
        if not deep:
            options += [
                self.branch,
                self.branch,
                self.loop,
                self.loop,
                self.protect,
                self.protect,
                self.context,
                self.nested,
                self.nested,
                self.generator,
                self.match,
                self.local_class,
            ]
        options += [self.small] * 3
        return self.random.choice(options)()

    def small(self) -> list[str]:
        """A statement of one line that does something unusual."""
        options: list[Callable[[], list[str]]] = [
            lambda: [f"assert {self.expr('bool')}, {self.expr('str')}"] if self.chance(0.3) else [],
            lambda: [f"if {self.expr('bool')}: return {self.expr('tensor')}, n, s"],
            lambda: [f"if {self.expr('bool')}: raise {self.error()}"],
            lambda: [f"flag = {self.expr('bool')}"],
            lambda: [f"n = (m := {self.expr('int')}) + m"],
            lambda: ["del n", "n = 1"],
        ]
        if self.breaks:
            options += [
                lambda: [f"print({self.expr('int')}, {self.expr('str')}, sep='|')"] * 1,
                lambda: [f"x = outside({self.expr('tensor')})"],
                lambda: ["torch.manual_seed(n % 7)"] if self.chance(0.3) else ["print(n)"],
                lambda: [f"s = '%.3f' % float({self.expr('tensor')}.sum())"],
                lambda: ["items.append(int(x.sum() * 0))"],
            ]
        else:
            options.append(lambda: [f"y = {self.expr('tensor')}"])
        return self.random.choice(options)() or ["pass"]

    def error(self) -> str:
        """An exception to raise."""
        return self.pick(
            lambda: f"ValueError({self.expr('str')})",
            lambda: f"Mine('mine', {self.expr('int')})",
            lambda: "KeyError('k')",
            "TypeError",
            "StopIteration(3)",
            lambda: f"RuntimeError({self.expr('int')}, {self.expr('str')})",
            "ZeroDivisionError('zero') from None",
            "IndexError(1) from ValueError('cause')",
        )

    def branch(self) -> list[str]:
        """`if` with other branches."""
        lines = [f"if {self.expr('bool')}:", *self.block()]
        if self.chance(0.3):
            lines += [f"elif {self.expr('bool')}:", *self.block()]
        if self.chance(0.5):
            lines += ["else:", *self.block()]
        return lines

    def loop(self) -> list[str]:
        """`for` or `while` with breaks, continues and `else`."""
        name = self.fresh("i")
        other = self.fresh("j")
        head, ints = self.random.choice(
            [
                (f"for {name} in range({self.pick('2', '3', 'n % 3')}):", [name]),
                (f"for {name} in {self.expr('list')}[:3]:", [name]),
                (f"for {name}, {other} in enumerate({self.expr('list')}[:3]):", [name, other]),
                (f"for {name}, {other} in zip(items, range(2)):", [name, other]),
                (f"for {name}, {other} in list({self.expr('dict')}.items())[:3]:", [other]),
                (f"for {name}, {other} in pairs({self.expr('int')}):", [name, other]),
                (f"for {name} in table:", []),
                (f"for {name} in gen(n, y):", []),
                (f"for {name} in tuple(items)[:2]:", [name]),
                (f"for {name} in o:", [name]),
            ]
        )
        prologue: list[str] = []
        body: list[str] = []
        if self.chance(0.25):
            # The counter is no variable that other statements assign to.
            prologue, head, ints = [f"{other} = 0"], f"while {other} < 3:", [name]
            body = [f"    {other} += 1", f"    {name} = {other}"]
        self.env.append({"int": ints})
        if "in gen(" in head:
            self.env[-1]["tensor"] = [name]
        self.loops += 1
        body += self.block()
        if self.chance(0.35):
            word = self.pick("break", "continue")
            body += [f"    if {self.expr('bool')}:", f"        {word}", *self.block(1)]
        self.loops -= 1
        self.env.pop()
        lines = [*prologue, head, *body]
        if self.chance(0.2):
            lines += ["else:", *self.block(1)]
        return lines

    def protect(self) -> list[str]:
        """`try` with handlers."""
        lines = ["try:", *self.block()]
        if self.chance(0.6):
            lines += ["    " + self.pick(lambda: f"raise {self.error()}", lambda: "n // (n - n)")]
        elif self.chance(0.5):
            lines += [
                f"    n = {self.pick('items[9]', 'table[s]', 'o.nope', 'int(s)', 'undefined')}"
            ]
        plain = self.chance(0.3)
        if not plain:
            kinds = self.random.sample(
                ["ValueError", "KeyError", "(TypeError, ZeroDivisionError)", "Mine", "Exception"], 2
            )
            for kind in sorted(kinds, key=lambda k: k == "Exception"):
                if self.chance(0.5):
                    lines += [f"except {kind} as e:", "    log.append((type(e).__name__, e.args))"]
                    lines += self.block(1)
                    if self.chance(0.25):
                        lines += [self.pick("    raise", "    raise Mine('again') from e")]
                else:
                    lines += [f"except {kind}:", *self.block(1)]
            if self.chance(0.3):
                lines += ["else:", *self.block(1)]
        if plain or self.chance(0.4):
            lines += ["finally:", *self.block(1)]
        return lines

    def context(self) -> list[str]:
        """`with`."""
        head = self.pick(
            "torch.no_grad()",
            "torch.enable_grad()",
            "torch.set_grad_enabled(n > 1)",
            "o",
            "o as p",
            "managed(items) as m",
            "torch.no_grad(), o",
            "managed(o.seen), torch.no_grad()",
        )
        lines = [f"with {head}:", *self.block()]
        if self.chance(0.2):
            lines += ["    " + self.pick("raise KeyError(n)", "if n > 2: raise ValueError(n)")]
        return lines

    def nested(self) -> list[str]:
        """A nested function that reads or writes outer variables, then used."""
        name = self.fresh("f")
        self.functions += 1
        argument = self.fresh("v")
        lines = []
        written = self.pick("", "", "nonlocal n", "global total", "nonlocal s")
        head = self.pick(
            f"def {name}({argument}):",
            f"def {name}({argument}, k=n):",
            f"def {name}({argument}, *rest, k=2, **more):",
        )
        if "total" in written:
            lines = ["    total += 1"]
        elif written.endswith("n"):
            lines = [f"    n += {self.pick('1', '2')}"]
        elif written:
            lines = ["    s = s + 'a'"]
        if self.chance(0.4):
            lines += [f"    items.append({self.pick('len(items)', 'n', '3')})"]
        if self.chance(0.2):
            lines += [f"    if isinstance({argument}, int) and {argument} > 40:"]
            lines += ["        raise Mine('deep', 1)"]
        if self.breaks and self.chance(0.2):
            lines += [f"    print('in', type({argument}).__name__)"]
        result = self.pick(
            f"{argument} + n",
            f"{argument} * len(items)",
            f"helper({argument}, 2)",
            f"o.twist({argument})",
            f"[{argument} + i for i in range(2)][-1]",
            f"(lambda: {argument} + total)()",
        )
        self.functions -= 1
        body = [f"    {written}"] if written else []
        self.declare("func", name)
        return [head, *body, *lines, f"    return {result}"]

    def generator(self) -> list[str]:
        """A generator, consumed in some way."""
        name = self.fresh("g")
        number = self.fresh("i")
        tensor = self.fresh("t")
        self.declare("int", number)
        self.declare("tensor", tensor)
        start = [f"{tensor}, {number} = y, 0"]
        return start + self.random.choice(
            [
                [f"{name} = gen(n, x)", f"{tensor} = next({name}, y)"],
                [
                    f"{name} = gen(3, x)",
                    f"{tensor} = next({name})",
                    f"{tensor} = {name}.send({self.expr('int')})",
                    f"{name}.close()",
                ],
                [
                    f"def {name}():",
                    f"    {number} = yield {self.expr('int')}",
                    f"    yield {number}",
                    f"    return {self.expr('int')}",
                    f"{number} = sum(v for v in {name}() if v)",
                ],
                [
                    f"def {name}():",
                    "    r = yield from gen(n, y)",
                    "    items.append(r)",
                    f"for {tensor} in {name}():",
                    "    x = x + 1",
                ],
                [
                    f"{name} = (v * n for v in [1, 2, 3])",
                    "n = 2" if self.chance(0.5) else "pass",
                    f"{number} = next({name}) + sum({name})",
                ],
                [
                    f"{name} = iter([x, y])",
                    f"for {tensor} in {name}:",
                    f"    {tensor} = {tensor} + 1",
                    "    break",
                    f"items.append(len(list({name})))",
                ],
            ]
        )

    def match(self) -> list[str]:
        """`match`."""
        return [
            f"match {self.pick('n', '(n, s)', 'items', 'table', 's', 'o')}:",
            "    case 0 | 1:",
            *["    " + line for line in self.block(1)],
            "    case [first, *_]:",
            "        n = first",
            "    case (int(), str()):",
            "        n += 1",
            "    case {'a': v, **rest}:",
            "        n = v + len(rest)",
            "    case O(count=c) if c > 1:",
            "        n = c",
            "    case _:",
            *["    " + line for line in self.block(1)],
        ]

    def local_class(self) -> list[str]:
        """An object of a class, made and used."""
        name = self.fresh("p")
        self.declare("int", name)
        return [
            f"{name} = O({self.expr('int')})",
            f"{name}.{self.pick('count', 'double', 'extra')} = {self.expr('int')}",
            f"x = {name}.twist({self.expr('tensor')})",
            self.pick(f"o.last = {name}.count", f"log.append({name})", "pass"),
            f"{name} = {name}.count",
        ]

    def program(self) -> str:
        """The text of the program."""
        lines: list[str] = []
        for _ in range(self.random.randint(3, self.size)):
            lines += self.statement()
        body = ["    " + line for line in [*lines, FOOTER]]
        return "\n".join([HEADER + SIGNATURE, *body, ""])


def changes(seed: int) -> list[dict[str, object]]:
    """How the inputs of the calls differ from the usual ones."""
    chooser = random.Random(seed)
    options: list[tuple[str, list[object]]] = [
        ("n", [0, 1, 2, 3, 4]),
        ("s", ["", "a", "b"]),
        ("items", [[], [1], [5, 6]]),
        ("table", [{}, {"k": 3}, {"a": 1, "b": 2}]),
        ("shift", [-5, 5]),
        ("same", [True]),
        ("dtype", ["float64"]),
        ("grad", [True]),
        ("flag", [False]),
        ("last", [True]),
    ]
    found: list[dict[str, object]] = [{}, {}]
    for _ in range(chooser.randint(1, 3)):
        found.append({name: chooser.choice(values) for name, values in chooser.sample(options, 2)})
    found.append({})
    return found


if __name__ == "__main__":
    chosen = int(sys.argv[1])
    print(Generator(chosen, breaks=chosen % 3 != 0).program())
