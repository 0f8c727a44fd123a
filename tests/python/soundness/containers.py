"""Lists, dicts, sets and other containers that the program reaches by a name."""

# ruff: noqa: E501
from .rows import Group

group = Group("Containers")
row = group.row

row(
    "list: item, length, order",
    "L$ = [1, 2]",
    "([x * v for v in L$], len(L$), L$[-1])",
    "L$[0] = 5",
    "L$.append(3)",
    "L$.reverse()",
    "L$.clear(); L$ += [7, 8]",
    "L$[:] = [torch.ones(3), None and 1 or 2]",
    "L$ = (1, 2)",
)
row(
    "list: one item only",
    "L$ = [1, 2]",
    "x * L$[0]",
    "L$[1] = 5",
    "L$.append(3)",
    "L$[0] = 4",
    "L$.pop(0)",
)
row(
    "list: kind of an item",
    "L$ = [1]",
    "(x * L$[0], type(L$[0]).__name__)",
    "L$[0] = 1.0",
    "L$[0] = True",
    "L$[0] = torch.tensor(1)",
)
row(
    "list: truth, comparison, membership",
    "L$ = [1]",
    "(not L$, L$ == [1], 1 in L$, x)",
    "L$.clear()",
    "L$.append(2)",
    "L$[0] = 1.0",
)
row(
    "nested lists and dicts",
    "L$ = [{'a': [1]}]",
    "x * L$[0]['a'][0]",
    "L$[0]['a'][0] = 2",
    "L$[0]['a'] = (3,)",
    "L$[0] = {'b': 0, 'a': [4]}",
    "L$.insert(0, {'a': [5]})",
)
row(
    "tuple rebound",
    "L$ = (1, [2])",
    "(x * L$[0], L$[1][0])",
    "L$[1][0] = 3",
    "L$ = (4, [5])",
    "L$ = (4,)",
)
row(
    "dict: value, key added, removed, order",
    "D$ = {'a': 1, 'b': 2}",
    "([(k, x * v) for k, v in D$.items()], len(D$))",
    "D$['a'] = 5",
    "D$['c'] = 3",
    "D$['a'] = D$.pop('a')",
    "del D$['b']",
    "D$.clear()",
)
row(
    "dict: one key only",
    "D$ = {'a': 1, 'b': 2}",
    "x * D$['a']",
    "D$['b'] = 5",
    "D$['c'] = 6",
    "D$['a'] = 3",
    "del D$['a']",
    "D$['a'] = 1.0",
)
row(
    "dict: get, membership, setdefault",
    "D$ = {}",
    "(x * D$.get('a', 2), 'a' in D$)",
    "D$['a'] = 1",
    "D$['a'] = None or 4",
    "del D$['a']",
    "D$['b'] = 1",
)
row(
    "dict: keys that compare equal",
    "D$ = {1: 2}",
    "([type(k).__name__ for k in D$], x * D$[1], D$.get(True))",
    "D$.clear(); D$[True] = 2",
    "D$.clear(); D$[1.0] = 3",
    "D$.clear(); D$[1 + 0j] = 2",
)
row(
    "dict: objects, tuples and None as keys",
    "class K$:\n    pass\na$ = K$()\nb$ = K$()\nD$ = {a$: 1, (1, 'z'): 2, None: 3}",
    "(D$.get(a$, 5), D$.get(b$, 6), D$[(1, 'z')], D$[None], x)",
    "D$[b$] = 4",
    "del D$[a$]",
    "D$[(1, 'z')] = 7",
    "D$[None] = 8",
    "a$ = b$",
)
row(
    "dict: keys that hash by user code",
    "class K$:\n    def __init__(self, v):\n        self.v = v\n    def __hash__(self):\n        return hash(self.v)\n"
    "    def __eq__(self, o):\n        return isinstance(o, K$) and self.v == o.v\nk$ = K$(1)\nD$ = {K$(1): 2}",
    "x * D$.get(k$, 5)",
    "k$ = K$(2)",
    "D$[K$(2)] = 3",
    "k$.v = 1",
)
row(
    "dict: the key's name comes from a global",
    "D$ = {'a': 1, 'b': 2}\nk$ = 'a'",
    "x * D$[k$]",
    "k$ = 'b'",
    "k$ = 'c'",
    "D$['c'] = 9",
)
row(
    "dict replaced by another kind",
    "import collections\nD$ = {'a': 1}",
    "(x * D$['a'], D$.get('b'))",
    "D$ = collections.OrderedDict(a=2)",
    "D$ = collections.defaultdict(lambda: 5, a=3)",
    "D$ = collections.ChainMap({'a': 4})",
    "D$ = collections.Counter(a=5)",
    "D$ = __import__('types').MappingProxyType({'a': 6})",
)
row(
    "defaultdict: factory and items",
    "import collections\nD$ = collections.defaultdict(lambda: 2)",
    "(x * D$['a'], D$.pop('a'), len(D$))",
    "D$.default_factory = lambda: 3",
    "D$['a'] = 4",
    "D$.default_factory = None",
)
row(
    "OrderedDict order",
    "import collections\nD$ = collections.OrderedDict(a=1, b=2)",
    "([k for k in D$], next(iter(D$.values())) * x)",
    "D$.move_to_end('a')",
    "D$.move_to_end('a', last=False)",
    "D$['b'] = 7",
)
row(
    "mapping proxy",
    "import types\nd$ = {'a': 1}\nP$ = types.MappingProxyType(d$)",
    "(x * P$['a'], len(P$))",
    "d$['a'] = 2",
    "d$['b'] = 3",
)
row(
    "set: items",
    "S$ = {1, 2}",
    "(3 in S$, len(S$), sorted(S$), x)",
    "S$.add(3)",
    "S$.discard(1)",
    "S$.clear()",
    "S$ = frozenset([3])",
)
row(
    "set: order of iteration",
    "S$ = set(); S$.add(0); S$.add(8)",
    "([v for v in S$], list(S$), x)",
    "S$ = set(); S$.add(8); S$.add(0)",
    "S$.add(16)",
    "S$ = {16, 8, 0}",
)
row(
    "frozenset: order of iteration",
    "S$ = frozenset([0, 8])",
    "([v for v in S$], x)",
    "S$ = frozenset([8, 0])",
    "S$ = frozenset([8, 0, 1])",
)
row(
    "set: items that compare equal",
    "S$ = {1}",
    "([type(v).__name__ for v in S$], x)",
    "S$ = {True}",
    "S$ = {1.0}",
)
row(
    "set of objects, of strings",
    "class K$:\n    pass\na$ = K$()\nb$ = K$()\nS$ = {a$, 'u'}",
    "(a$ in S$, b$ in S$, 'u' in S$, 'w' in S$, x)",
    "S$.add(b$)",
    "S$.remove(a$)",
    "S$.add('w')",
    "b$ = a$",
)
row(
    "deque: items, length, maxlen",
    "import collections\nQ$ = collections.deque([1, 2], maxlen=3)",
    "([x * v for v in Q$], Q$.maxlen, Q$[0])",
    "Q$.append(3)",
    "Q$.append(4)",
    "Q$.rotate(1)",
    "Q$ = collections.deque(Q$)",
    "Q$.appendleft(torch.ones(3))",
)
row(
    "array, bytearray, memoryview",
    "import array\nA$ = array.array('i', [1, 2])\nB$ = bytearray(b'ab')\nM$ = memoryview(B$)",
    "(A$[0] * x, B$[0], len(B$), M$[1])",
    "A$[0] = 5",
    "B$[0] = 1",
    "M$[1] = 9",
)
row(
    "what the program itself changes",
    "L$ = []\nD$ = {}\ndef use$(v):\n    L$.append(v + len(L$))\n"
    "    D$[len(D$)] = 1\n    return v * len(L$) + len(D$)",
    "use$(x)",
    "L$.clear()",
    "D$.clear()",
    "L$ = [1, 2, 3]",
    "D$['z'] = 1",
)
row(
    "container of tensors",
    "L$ = [torch.ones(3), torch.zeros(3)]",
    "sum((v for v in L$), x)",
    "L$.append(torch.ones(3))",
    "L$[0] = torch.ones(1)",
    "L$[1] = L$[0]",
    "L$[0].add_(1)",
    "L$[0] = torch.ones(3).double()",
)
row(
    "big containers",
    "L$ = list(range(100))\nD$ = {i: i for i in range(100)}",
    "(x * sum(L$), x * sum(D$.values()), x * D$[99])",
    "L$[99] = 0",
    "D$[99] = 5",
    "D$[50] = 5",
    "L$[50] = 5",
)
row(
    "views of a dict",
    "D$ = {'a': 1}\nV$ = D$.items()\nK$ = D$.keys()",
    "([x * v for _, v in V$], list(K$), 'b' in K$)",
    "D$['a'] = 2",
    "D$['b'] = 3",
)
row(
    "a key's value is deleted and made again",
    "D$ = {'a': torch.ones(3)}",
    "x * D$['a']",
    "D$['a'] = D$['a'].clone()",
    "D$['a'] = torch.zeros(3)",
    "D$.update(a=2)",
)
row(
    "numpy array behind a name",
    "import numpy as np\nN$ = np.arange(3.)\n",
    "(x * torch.from_numpy(N$).float(), N$.shape)",
    "N$[0] = 5",
    "N$ = np.arange(4.)[:3]",
    "N$ = N$.astype('float64') * 2",
    "N$.shape = (3, 1)",
)
row(
    "slice, range, bytes and strings behind names",
    "s$ = slice(0, 2)\nr$ = range(2)\nb$ = b'a'\nt$ = 'a'",
    "(x[s$], [x * i for i in r$], b$ + b'z', t$ + 'z')",
    "s$ = slice(1, 3)",
    "r$ = range(3)",
    "b$ = b'b'",
    "t$ = 'b'",
    "t$ = 'a'.upper().lower()",
)
row(
    "big and small integers",
    "n$ = 10 ** 30",
    "(n$ + 1, n$ // 7, n$ == 10 ** 30, x)",
    "n$ = 10 ** 30 + 1",
    "n$ = -(10 ** 30)",
    "n$ = 1e30",
    "n$ = 2 ** 63",
    "n$ = -(2 ** 63)",
)
row(
    "floats: signed zero and NaN",
    "n$ = 0.0",
    "(repr(n$), n$ == 0, x * n$, 1 if n$ else 2)",
    "n$ = -0.0",
    "n$ = float('nan')",
    "n$ = 0",
    "n$ = False",
)
