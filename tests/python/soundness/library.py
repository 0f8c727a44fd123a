"""Code of installed packages and of the standard library."""

# ruff: noqa: E501
from .rows import Group

group = Group("Library code")
row = group.row

row(
    "code of a function of torch.nn.functional",
    "import torch.nn.functional as F\nr$ = F.softsign.__code__",
    "F.softsign(x)",
    "F.softsign.__code__ = (lambda input: input * 5).__code__",
    undo="F.softsign.__code__ = r$",
    compiled_wrong="torch's own Python code was traced into the graph once",
)
row(
    "code of nn.Module's methods",
    "m$ = torch.nn.Linear(3, 3)\nr$ = torch.nn.Linear.forward.__code__",
    "m$(x)",
    "torch.nn.Linear.forward.__code__ = (lambda self, input: input * 5).__code__",
    undo="torch.nn.Linear.forward.__code__ = r$",
)
row(
    "method of a library's class replaced",
    "m$ = torch.nn.Linear(3, 3)\nr$ = torch.nn.Linear.forward",
    "m$(x)",
    "torch.nn.Linear.forward = lambda self, v: v * 5",
    undo="torch.nn.Linear.forward = r$",
)
row(
    "nn.Module.__call__ replaced",
    "m$ = torch.nn.Linear(3, 3)\nr$ = torch.nn.Module.__call__",
    "m$(x)",
    "torch.nn.Module.__call__ = lambda self, v: r$(self, v) + 1",
    undo="torch.nn.Module.__call__ = r$",
)
row(
    "nn.Module.__getattr__ replaced",
    "m$ = torch.nn.Linear(3, 3)\nr$ = torch.nn.Module.__getattr__",
    "m$(x)",
    # Of m$ alone: the parameters of a layer that is made under it would never be given values.
    "torch.nn.Module.__getattr__ = lambda self, n: r$(self, n) * 2 if self is m$ and n == 'weight' else r$(self, n)",
    undo="torch.nn.Module.__getattr__ = r$",
)
row(
    "defaults of a library function",
    "import torch.nn.functional as F\nr$ = F.hardtanh.__defaults__\nimport textwrap\nq$ = textwrap.shorten.__kwdefaults__",
    "F.hardtanh(x * 9)",
    "F.hardtanh.__defaults__ = (-2.0, 2.0, False)",
    undo="F.hardtanh.__defaults__ = r$",
    compiled_wrong="torch's own Python code was traced into the graph once",
)
row(
    "keyword defaults of a library function",
    "import abc\nimport heapq\nimport statistics\nr$ = heapq.merge.__kwdefaults__['reverse']",
    "(list(heapq.merge([1, 3], [2])), x)",
    "heapq.merge.__kwdefaults__['reverse'] = True",
    undo="heapq.merge.__kwdefaults__['reverse'] = r$",
)
row(
    "function of a library module replaced",
    "import torch.nn.functional as F\nm$ = torch.nn.Softsign()\nr$ = F.softsign",
    "(F.softsign(x), m$(x))",
    "F.softsign = lambda v: v * 5",
    undo="F.softsign = r$",
)
row(
    "global of a library module replaced",
    "import torch.nn.modules.linear as L$\nm$ = torch.nn.Linear(3, 3)\nr$ = L$.F",
    "m$(x)",
    "import types\nL$.F = types.SimpleNamespace(linear=lambda a, b, c: a * 5)",
    undo="L$.F = r$",
)
row(
    "global added to a library module that shadows a builtin",
    "import torch.nn.modules.container as K$\nm$ = torch.nn.Sequential(torch.nn.ReLU())",
    "(m$(x), len(m$))",
    "K$.len = lambda v: 9",
    undo="K$.__dict__.pop('len', None)",
)
row(
    "builtin replaced under library code",
    "import builtins\nm$ = torch.nn.ModuleList([torch.nn.ReLU()])\nr$ = builtins.len",
    "(len(m$), m$[-1](x))",
    "builtins.len = lambda v: r$(v) + 0 if not isinstance(v, dict) else r$(v) + 1",
    undo="builtins.len = r$",
    combine=False,
    compiled_wrong="torch's own Python code was traced into the graph once",
)
row(
    "torch function replaced",
    "r$ = torch.sin",
    "torch.sin(x)",
    "torch.sin = torch.cos",
    "torch.sin = lambda v: v * 5",
    undo="torch.sin = r$",
)
row(
    "Tensor method replaced",
    "r$ = torch.Tensor.sin",
    "x.sin()",
    "torch.Tensor.sin = lambda self: self * 5",
    undo="del torch.Tensor.sin",
    compiled_wrong="torch's own Python code was traced into the graph once",
)
row(
    "Tensor operator replaced",
    "r$ = torch.Tensor.__add__",
    "x + 1",
    "torch.Tensor.__add__ = lambda self, o: self * 5",
    undo="torch.Tensor.__add__ = r$",
    compiled_wrong="torch's own Python code was traced into the graph once",
)
row(
    "attribute added to Tensor",
    "",
    "getattr(x, 'fancy$', 2) * x",
    "torch.Tensor.fancy$ = 3",
    "torch.Tensor.fancy$ = property(lambda s: 4)",
    undo="del torch.Tensor.fancy$",
)
row(
    "Python method of Tensor replaced",
    "r$ = torch.Tensor.norm",
    "x.norm()",
    "torch.Tensor.norm = lambda self: self * 5",
    undo="torch.Tensor.norm = r$",
    compiled_wrong="torch's own Python code was traced into the graph once",
)
row(
    "math function replaced",
    "import math\nr$ = math.floor",
    "x * math.floor(2.5)",
    "math.floor = lambda v: 7",
    undo="math.floor = r$",
)
row(
    "standard library's Python function",
    "import functools, operator, collections\nimport statistics\nr$ = statistics.mean\n",
    "x * statistics.mean([1, 3])",
    "statistics.mean = lambda v: 7",
    undo="statistics.mean = r$",
)
row(
    "code of a standard library function",
    "import bisect, textwrap, string\nr$ = string.capwords.__code__",
    "(string.capwords('ab cd'), x)",
    "string.capwords.__code__ = (lambda s, sep=None: 'zz').__code__",
    undo="string.capwords.__code__ = r$",
)
row(
    "class attribute in the standard library",
    "import string\nT$ = string.Template\nr$ = T$.delimiter",
    "(T$.delimiter, x)",
    "T$.delimiter = '%'",
    undo="T$.delimiter = r$",
)
row(
    "itertools and operator functions replaced",
    "import itertools, operator\nr$ = itertools.chain\ns$ = operator.add",
    "(list(itertools.chain([1], [2])), operator.add(x, 1))",
    "itertools.chain = lambda *a: [9]",
    "operator.add = operator.sub",
    undo="itertools.chain = r$; operator.add = s$",
    combine=False,
)
row(
    "functools.partial replaced",
    "import functools\nr$ = functools.partial",
    "functools.partial(torch.add, other=1)(x)",
    "functools.partial = lambda f, *a, **k: torch.cos if f is torch.add else r$(f, *a, **k)",
    undo="functools.partial = r$",
)
row(
    "state of a library object",
    "import collections\nc$ = collections.Counter('aab')",
    "(c$['a'] * x, c$['z'], c$.most_common(1))",
    "c$['a'] = 7",
    "c$.update('zz')",
)
row(
    "torch.nn.init, torch.utils functions",
    "import torch.utils._pytree as P$\nr$ = P$.tree_map.__code__",
    "P$.tree_map(lambda v: v * 2, [x, {'a': x}])",
    "P$.tree_map.__code__ = (lambda func, tree, *rests, is_leaf=None: 5).__code__",
    undo="P$.tree_map.__code__ = r$",
    compiled_wrong="torch's own Python code was traced into the graph once",
)
row(
    "closure of a library's decorator",
    "import contextlib\n@contextlib.contextmanager\ndef c$():\n    yield 2\nr$ = contextlib._GeneratorContextManager.__enter__\n"
    "def use$(v):\n    with c$() as k:\n        return v * k",
    "use$(x)",
    "contextlib._GeneratorContextManager.__enter__ = lambda self: r$(self) + 3 if self.func is c$.__wrapped__ else r$(self)",
    undo="contextlib._GeneratorContextManager.__enter__ = r$",
)
row(
    "torch.no_grad's methods",
    "r$ = torch.no_grad.__enter__\nw$ = torch.ones(3, requires_grad=True)\ndef use$(v):\n    with torch.no_grad():\n        return (v * w$).requires_grad",
    "(use$(x), x)",
    "torch.no_grad.__enter__ = lambda self: setattr(self, 'prev', True)",
    undo="torch.no_grad.__enter__ = r$",
)
row(
    "an installed package's class",
    "import numpy as np\nimport types\nr$ = types.SimpleNamespace.__eq__",
    "(types.SimpleNamespace(a=1) == types.SimpleNamespace(a=1), x)",
    "types.SimpleNamespace$ = 3",
)
row(
    "torch.nn.Parameter, torch.Tensor replaced",
    "r$ = torch.nn.Parameter\nm$ = torch.nn.Linear(3, 3)",
    "(isinstance(m$.weight, torch.nn.Parameter), x)",
    "torch.nn.Parameter = int",
    undo="torch.nn.Parameter = r$",
)
