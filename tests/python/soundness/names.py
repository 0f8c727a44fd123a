"""Names: globals, builtins, closures, imports."""

# ruff: noqa: E501
import sys

from .rows import Group

#: How a class says that `k` is 7. From 3.14 on an instruction that has read `k` of a module before reads it of the module's
#: dictionary also where the new class has a property: what plain Python gives depends on how often it ran.
SEVEN = "@property\n    def k(self):\n        return 7"
if sys.version_info >= (3, 14):
    SEVEN = "def __getattribute__(self, name):\n        return 7 if name == 'k' else super().__getattribute__(name)"

group = Group("Names")
row = group.row

row(
    "global rebound to another value",
    "K$ = 2",
    "x * K$",
    "K$ = 3",
    "K$ = 3.0",
    "K$ = True",
    "K$ = 1",
    "K$ = torch.ones(3)",
    "K$ = torch.ones(1)",
    "K$ = 2",
)
row("global deleted and made again", "K$ = 2", "x * K$", "del K$", "K$ = 4")
row("global tensor replaced", "K$ = torch.ones(3)", "x * K$", "K$ = torch.zeros(3)", "K$ = K$[:1]")
row(
    "builtin shadowed by a global",
    "",
    "(len((1, 2)) * x, len)",
    "len = lambda v: 7",
    "del len",
    combine=False,
)
row(
    "builtin replaced for everybody",
    "import builtins\nreal$ = builtins.ascii",
    "(ascii('a'), x)",
    "builtins.ascii = lambda v: 'b'",
    undo="builtins.ascii = real$",
)
row(
    "builtin added",
    "import builtins",
    "(new$ * x)",
    "builtins.new$ = 3",
    "builtins.new$ = 4",
    "del builtins.new$",
    undo="builtins.__dict__.pop('new$', None)",
)
row(
    "builtins of the module replaced",
    "",
    "(abs(-2) * x)",
    "__builtins__ = {**__import__('builtins').__dict__, 'abs': lambda v: 9}",
    "__builtins__ = __import__('builtins')",
    combine=False,
)
row(
    "function replaced",
    "def f$(v):\n    return v * 2",
    "f$(x)",
    "def f$(v):\n    return v * 3",
    "f$ = torch.sin",
    "f$ = lambda v: v - 1",
    "del f$",
)
row(
    "class replaced",
    "class C$:\n    k = 2",
    "x * C$().k",
    "class C$:\n    k = 3",
    "C$ = lambda: C$\nC$.k = 5",
)
row(
    "closure cell",
    "def make$():\n    k = 2\n    def get(v):\n        return v * k\n    def put(n):\n"
    "        nonlocal k\n        k = n\n    return get, put\nget$, put$ = make$()",
    "get$(x)",
    "put$(3)",
    "put$(torch.ones(3))",
    "put$(None)",
    "get$.__closure__[0].cell_contents = 4",
    "del get$.__closure__[0].cell_contents",
)
row(
    "closure cell shared with a function that writes",
    "def make$():\n    k = 2\n    def get(v):\n        nonlocal k\n        k += 1\n        return v * k\n"
    "    def put(n):\n        nonlocal k\n        k = n\n    return get, put\nget$, put$ = make$()",
    "get$(x)",
    "put$(10)",
    "put$(1.5)",
)
row(
    "module attribute",
    "import types, sys\nm$ = types.ModuleType('m$')\nm$.k = 2",
    "x * m$.k",
    "m$.k = 3",
    "m$.k = torch.ones(3)",
    "del m$.k",
    "m$.k = 5",
    "m$.__dict__['k'] = 6",
)
row(
    "attribute that a module does not have yet",
    "import types\nm$ = types.ModuleType('m$')",
    "(x * getattr(m$, 'k', 1), hasattr(m$, 'k'))",
    "m$.k = 2",
    "del m$.k",
)
row(
    "__getattr__ of a module",
    "import types\nm$ = types.ModuleType('m$')\nn$ = 2\nm$.__getattr__ = lambda name: n$",
    "x * m$.k",
    "n$ = 3",
    "m$.__getattr__ = lambda name: 9",
    "m$.k = 1",
    "del m$.k",
    "del m$.__getattr__",
)
row(
    "class of a module",
    "import types\nm$ = types.ModuleType('m$')\nm$.k = 2\n"
    f"class M$(types.ModuleType):\n    {SEVEN}",
    "x * m$.k",
    "m$.__class__ = M$",
)
row(
    "entry of sys.modules (import inside)",
    "import sys, types\nsys.modules['mod$'] = types.ModuleType('mod$')\nsys.modules['mod$'].k = 2\n"
    "def imp$(v):\n    import mod$\n    return v * mod$.k\n",
    "imp$(x)",
    "sys.modules['mod$'].k = 3",
    "sys.modules['mod$'] = types.SimpleNamespace(k=5)",
    "del sys.modules['mod$']",
    undo="sys.modules.pop('mod$', None)",
)
row(
    "name imported from a module inside",
    "import sys, types\nsys.modules['mod$'] = types.ModuleType('mod$')\nsys.modules['mod$'].k = 2\n"
    "def imp$(v):\n    from mod$ import k\n    return v * k\n",
    "imp$(x)",
    "sys.modules['mod$'].k = 3",
    "del sys.modules['mod$'].k",
    undo="sys.modules.pop('mod$', None)",
)
row(
    "submodule imported inside",
    "import sys, types\nfor n in ('pk$', 'pk$.sub'):\n    sys.modules[n] = types.ModuleType(n)\n"
    "sys.modules['pk$'].sub = sys.modules['pk$.sub']\nsys.modules['pk$.sub'].k = 2\n"
    "def imp$(v):\n    import pk$.sub as s\n    return v * s.k\n"
    "def imq$(v):\n    import pk$.sub\n    return v + pk$.sub.k\n",
    "(imp$(x), imq$(x))",
    "sys.modules['pk$'].sub = types.SimpleNamespace(k=4)",
    "sys.modules['pk$.sub'].k = 9",
    "sys.modules['pk$.sub'] = types.SimpleNamespace(k=6)",
    undo="sys.modules.pop('pk$', None); sys.modules.pop('pk$.sub', None)",
)
row(
    "__import__ replaced",
    "import builtins, types\nreal$ = builtins.__import__\ndef get$():\n    import math\n    return math.tau\n"
    "def other$(name, *more):\n    return types.SimpleNamespace(tau=5) if name == 'math' else real$(name, *more)",
    "x * get$()",
    "builtins.__import__ = other$",
    "builtins.__import__ = real$",
    undo="builtins.__import__ = real$",
)
row(
    "alias of a module replaced",
    "import math as math$",
    "x * math$.floor(2.5)",
    "import cmath as math$",
    "import types\nmath$ = types.SimpleNamespace(floor=lambda v: 5)",
)
row(
    "global in another module's function",
    "import types\nm$ = types.ModuleType('m$')\nexec('k = 2\\ndef f(v):\\n    return v * k', m$.__dict__)",
    "m$.f(x)",
    "m$.k = 3",
    "m$.f = lambda v: v",
    "del m$.k; m$.f = lambda v: m$.k",
)
row(
    "globals() and vars()",
    "K$ = 2",
    "x * globals()['K$']",
    "K$ = 3",
    "globals()['K$'] = 4",
    "del K$",
)
row(
    "name read from a dict of functions",
    "T$ = {'a': torch.sin, 'b': torch.cos}\nK$ = 'a'",
    "T$[K$](x)",
    "K$ = 'b'",
    "T$['b'] = torch.tan",
    "T$ = {'b': torch.abs}",
    "del T$['b']",
)
row(
    "private name, dunder name, __name__",
    "__k$ = 2",
    "(x * __k$, __name__, __k$)",
    "__k$ = 3",
    "__name__ = 'other'",
    combine=False,
)
row(
    "environment variable",
    "import os\nos.environ['FERRO$'] = '2'",
    "x * int(os.environ.get('FERRO$', 1))",
    "os.environ['FERRO$'] = '3'",
    "del os.environ['FERRO$']",
    "os.environ['FERRO$'] = '4'",
    undo="os.environ.pop('FERRO$', None)",
)
row(
    "environment variable by getenv and by membership",
    "import os\nos.environ['FERRO$'] = '2'",
    "(x * int(os.getenv('FERRO$', '7')), 'FERRO$' in os.environ)",
    "os.environ['FERRO$'] = '3'",
    "os.environ.pop('FERRO$')",
    undo="os.environ.pop('FERRO$', None)",
)
row(
    "clock, process, thread",
    "import time, threading, os\nt$ = [1.0]\nreal$ = time.time\ntime.time = lambda: t$[0]",
    "x * time.time()",
    "t$[0] = 2.0",
    "time.time = lambda: 3.0",
    undo="time.time = real$",
)
row(
    "thread-local attribute",
    "import threading\nL$ = threading.local()\nL$.k = 2",
    "x * getattr(L$, 'k', 1)",
    "L$.k = 3",
    "del L$.k",
)
row(
    "context variable",
    "import contextvars\nV$ = contextvars.ContextVar('v$', default=2)",
    "x * V$.get()",
    "V$.set(3)",
    "V$.set(5)",
    undo="",
)
row(
    "recursion limit, sys attributes",
    "import sys\nsys.flag$ = 2",
    "x * sys.flag$",
    "sys.flag$ = 3",
    "del sys.flag$",
)
row(
    "which of two equal strings or numbers a name stands for",
    "a$ = 'some text'\nb$ = a$\nm$ = 1000\nn$ = m$",
    "(a$ is b$, m$ is n$, x)",
    "b$ = ' '.join(['some', 'text'])",
    "n$ = int('1000')",
    "a$ = b$",
)
