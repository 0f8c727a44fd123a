"""Functions: code, defaults, closures, attributes, decorators, generators."""

# ruff: noqa: E501
from .rows import Group

group = Group("Functions")
row = group.row

F = "def f$(v, k=2, *, m=3):\n    return v * k + m"
row(
    "__code__ replaced",
    F,
    "f$(x)",
    "f$.__code__ = (lambda v, k=1, *, m=1: v - k - m).__code__",
    "f$.__code__ = (lambda v: v).__code__",
)
row(
    "__defaults__ replaced",
    F,
    "f$(x)",
    "f$.__defaults__ = (5,)",
    "f$.__defaults__ = (torch.ones(3),)",
    "f$.__defaults__ = None",
    "f$.__defaults__ = (1, 2)",
)
row(
    "__kwdefaults__ replaced, or an item",
    F,
    "f$(x)",
    "f$.__kwdefaults__ = {'m': 5}",
    "f$.__kwdefaults__['m'] = 6",
    "f$.__kwdefaults__ = None",
    "f$.__kwdefaults__ = {'m': 7}",
    "del f$.__kwdefaults__['m']",
)
row(
    "defaults that are only handed on",
    "def f$(v, k=2, *, m='a'):\n    return v + 1, k, m",
    "f$(x)",
    "f$.__defaults__ = (3,)",
    "f$.__defaults__ = (torch.ones(3),)",
    "f$.__defaults__ = None",
    "f$.__kwdefaults__ = {'m': 5}",
    "f$.__kwdefaults__['m'] = [6]",
    "f$.__kwdefaults__ = None",
    "f$.__kwdefaults__ = {'m': [7]}",
    "",
    "f$.__kwdefaults__ = {}",
    "f$.__kwdefaults__ = {'m': [8]}",
    "f$.__kwdefaults__ = {'n': [9]}",
)
row(
    "defaults where there were none",
    "def f$(v, k=None, *, m=None):\n    return v\nf$.__defaults__ = None\n"
    "f$.__kwdefaults__ = None\ndef use$(v):\n    try:\n        return f$(v)\n    except TypeError:\n        return 5",
    "(use$(x), x)",
    "f$.__defaults__ = (1,)",
    "f$.__kwdefaults__ = {'m': 6}",
    "f$.__defaults__ = None",
)
row(
    "a mutable default",
    "def f$(v, d=[]):\n    d.append(1)\n    return v * len(d)",
    "f$(x)",
    "f$.__defaults__[0].clear()",
    "f$.__defaults__ = ([1, 2],)",
)
row(
    "function attribute",
    F + "\nf$.a = 2",
    "(x * f$.a, getattr(f$, 'b', 5))",
    "f$.a = 3",
    "f$.b = 4",
    "del f$.b",
    "del f$.a",
    "f$.__dict__['a'] = 7",
    "f$.__dict__ = {'a': 8}",
)
row(
    "hasattr of a function attribute",
    F,
    "x * 2 if hasattr(f$, 'flag') else x * 3",
    "f$.flag = 1",
    "del f$.flag",
)
row(
    "name, qualname, doc, annotations of a function",
    F,
    "(f$.__name__, f$.__qualname__, f$.__doc__, f$.__module__, f$.__annotations__.get('v'), x)",
    "f$.__name__ = 'g'",
    "f$.__qualname__ = 'h'",
    "f$.__doc__ = 'i'",
    "f$.__module__ = 'j'",
    "f$.__annotations__['v'] = 1",
)
row(
    "decorated function: what the decorator holds",
    "import functools\ndef deco$(k):\n    def outer(f):\n        @functools.wraps(f)\n        def inner(*a):\n"
    "            return f(*a) * inner.k\n        inner.k = k\n        return inner\n    return outer\n"
    "@deco$(2)\ndef f$(v):\n    return v + 1",
    "f$(x)",
    "f$.k = 3",
    "f$.__closure__[0].cell_contents = torch.sin",
    "f$ = f$.__wrapped__",
)
row(
    "lru_cache",
    "import functools\nn$ = 2\n@functools.lru_cache\ndef f$(k):\n    return k * n$",
    "x * f$(3)",
    "n$ = 5",
    "f$.cache_clear()",
    combine=True,
)
row(
    "a generator function",
    "n$ = 2\ndef g$(k):\n    for i in range(n$):\n        yield i * k",
    "[x * v for v in g$(2)]",
    "n$ = 3",
    "n$ = 0",
    "g$.__code__ = (lambda k: (yield k)).__code__",
)
row(
    "a generator that goes on",
    "def g$():\n    n = 1\n    while True:\n        yield n\n        n += 1\ni$ = g$()",
    "x * next(i$)",
    "next(i$)",
    "i$ = iter((5, 6))",
    "i$ = g$()",
)
row(
    "partial: func, args, keywords",
    "import functools\np$ = functools.partial(lambda v, k, m=1: v * k + m, k=2)",
    "p$(x)",
    "p$.keywords['k'] = 3",
    "p$.keywords['m'] = 4",
    "p$ = functools.partial(torch.add, other=5)",
    "p$.__setstate__((torch.mul, (), {'other': 7}, {}))",
)
row(
    "partialmethod, singledispatch",
    "import functools\n@functools.singledispatch\ndef s$(k):\n    return 2\n",
    "x * s$(1)",
    "s$.register(int)(lambda k: 5)",
    "s$.register(bool)(lambda k: 6)",
)
row(
    "singledispatch: bases of a class, what it remembers",
    "import functools\nclass A$:\n    pass\nclass B$:\n    pass\nclass C$(A$):\n    pass\nclass D$(C$):\n    pass\no$ = D$()\n"
    "@functools.singledispatch\ndef s$(k):\n    return 2\n"
    "s$.register(A$)(lambda k: 3)\ns$.register(B$)(lambda k: 4)",
    "x * s$(o$)",
    "C$.__bases__ = (B$,)",
    "s$.register(int)(lambda k: 7)",
    "o$ = C$()",
    "s$.register(C$)(lambda k: 9)",
    "o$ = 1",
    "s$._clear_cache()",
)
row(
    "singledispatchmethod",
    "import functools\nclass S$:\n    k = 1\n    @functools.singledispatchmethod\n    def f(self, a):\n        return self.k\n"
    "    @f.register\n    def _(self, a: int):\n        return 5\ns$ = S$()\no$ = 1",
    "x * s$.f(o$)",
    "o$ = 'a'",
    "s$.k = 9",
    "S$.__dict__['f'].register(bool, lambda s, a: 11)",
    "o$ = True",
)
row(
    "operator.attrgetter and itemgetter",
    "import operator, types\no$ = types.SimpleNamespace(k=2)\n"
    "a$ = operator.attrgetter('k')\ni$ = operator.itemgetter(0)\nL$ = [3]",
    "(x * a$(o$), i$(L$))",
    "o$.k = 5",
    "L$[0] = 4",
    "a$ = operator.attrgetter('j'); o$.j = 6",
)
row(
    "sort key, map function",
    "k$ = lambda v: -v\nL$ = [3, 1, 2]",
    "(sorted(L$, key=k$), list(map(k$, L$)), x)",
    "k$ = abs",
    "L$.append(0)",
    "k$ = lambda v: v % 2",
    "k$.__code__ = (lambda v: v % 3).__code__",
)
row(
    "recursive function",
    "def f$(n):\n    return 1 if n < 1 else n * f$(n - 1)",
    "x * f$(4)",
    "g$ = f$\ndef f$(n):\n    return 7",
    "f$ = g$",
)
row(
    "a function that a compiled one calls and that is compiled itself",
    "import sys\nn$ = 2\ndef f$(v):\n    return v * n$\nf$ = COMPILE(f$)",
    "f$(x)",
    "n$ = 3",
    "f$ = lambda v: v - 1",
)
row(
    "what is disabled",
    "n$ = 2\n@DISABLE\ndef f$(v):\n    return v * n$",
    "f$(x) + 1",
    "n$ = 3",
    "f$ = lambda v: v - n$",
)
row(
    "compiled function's own defaults and closure",
    "def make$():\n    k = 2\n    def f(v, d=1):\n        return v * k + d\n    def put(n):\n        nonlocal k\n"
    "        k = n\n    return COMPILE(f), put, f\nf$, put$, raw$ = make$()",
    "f$(x)",
    "put$(3)",
    "raw$.__defaults__ = (4,)",
    "raw$.__code__ = raw$.__code__.replace(co_name='z')",
)
row(
    "staticmethod object outside a class",
    "s$ = staticmethod(lambda v: v * 2)",
    "s$(x)",
    "s$ = staticmethod(lambda v: v * 3)",
    "s$.__func__.__code__ = (lambda v: v - 1).__code__",
)
row(
    "method object",
    "class C$:\n    k = 2\n    def run(self, v):\n        return v * self.k\nm$ = C$().run",
    "m$(x)",
    "m$.__self__.k = 3",
    "C$.run = None",
    "m$.__func__.__code__ = (lambda s, v: v).__code__",
    "import types\nm$ = types.MethodType(lambda s, v: v * s, 6)",
)
row(
    "exceptions: class attributes and what is raised",
    "class E$(Exception):\n    k = 2\ne$ = E$\ndef use$(v):\n    try:\n        raise e$('a')\n    except E$ as err:\n"
    "        return v * err.k, str(err)\n    except ValueError:\n        return 9",
    "use$(x)",
    "E$.k = 3",
    "E$.__str__ = lambda self: 'z'",
    "e$ = ValueError",
    "e$ = KeyError",
)
