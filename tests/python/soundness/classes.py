"""Classes and instances: attributes, methods, bases, descriptors."""

# ruff: noqa: E501
from .rows import Group

group = Group("Classes and instances")
row = group.row

C = "class C$:\n    k = 2\n    def run(self, v):\n        return v * self.k\no$ = C$()"
row(
    "attribute of an instance set, changed, deleted",
    C,
    "x * o$.k",
    "o$.k = 3",
    "o$.k = 4.5",
    "o$.k = torch.ones(3)",
    "del o$.k",
)
row(
    "attribute through __dict__",
    C,
    "(x * o$.k, 'k' in o$.__dict__, len(vars(o$)))",
    "o$.__dict__['k'] = 3",
    "vars(o$)['k'] = 4",
    "o$.__dict__.clear()",
)
row(
    "__dict__ replaced",
    C,
    "x * o$.k",
    "o$.__dict__ = {'k': 3}",
    "o$.__dict__ = {}",
    "o$.__dict__ = {'k': 6}",
    "o$.k = 7",
)
row(
    "__class__ replaced",
    C + "\nclass D$:\n    k = 5\n    def run(self, v):\n        return v + 1",
    "(o$.run(x), type(o$).__name__, isinstance(o$, C$))",
    "o$.__class__ = D$",
    "o$.__class__ = C$",
)
row("instance replaced by another of the class", C, "o$.run(x)", "o$ = C$(); o$.k = 9", "o$ = C$()")
row(
    "identity of two names",
    "class C$:\n    pass\no$ = C$()\np$ = o$",
    "(x, o$ is p$, o$ == p$)",
    "p$ = C$()",
    "o$ = p$",
)
row(
    "class attribute changed, deleted",
    C,
    "o$.run(x)",
    "C$.k = 3",
    "C$.k = torch.ones(3)",
    "del C$.k",
)
row(
    "method replaced in the class",
    C,
    "o$.run(x)",
    "C$.run = lambda self, v: v - 1",
    "C$.run = torch.sin",
    "C$.run = staticmethod(lambda v: v * 8)",
    "del C$.run",
)
row("method replaced in the instance", C, "o$.run(x)", "o$.run = lambda v: v - 1", "del o$.run")
row(
    "code of a method replaced",
    C,
    "o$.run(x)",
    "C$.run.__code__ = (lambda self, v: v - self.k).__code__",
)
row(
    "class attribute found in a base",
    "class A$:\n    k = 2\nclass B$(A$):\n    pass\nclass C$(B$):\n    pass\no$ = C$()",
    "x * o$.k",
    "A$.k = 3",
    "B$.k = 4",
    "C$.k = 5",
    "del C$.k",
    "del B$.k",
    "del A$.k",
)
row(
    "base classes replaced",
    "class A$:\n    k = 2\nclass B$:\n    k = 5\nclass D$(A$):\n    pass\nclass C$(D$):\n    pass\no$ = C$()",
    "(x * o$.k, isinstance(o$, A$), issubclass(C$, B$))",
    "D$.__bases__ = (B$,)",
    "C$.__bases__ = (A$,)",
)
row(
    "method of a base behind super()",
    "class A$:\n    def run(self, v):\n        return v * 2\nclass M$:\n    pass\n"
    "class C$(M$, A$):\n    def run(self, v):\n        return super().run(v) + 1\no$ = C$()",
    "o$.run(x)",
    "A$.run = lambda self, v: v * 3",
    "M$.run = lambda self, v: v * 4",
    "del M$.run",
    "del A$.run",
)
row(
    "bases replaced behind super()",
    "class A$:\n    def run(self, v):\n        return v * 2\nclass Z$:\n    def run(self, v):\n        return v * 7\n"
    "class B$(A$):\n    def run(self, v):\n        return super().run(v) + 1\nclass C$(B$):\n    pass\no$ = C$()",
    "o$.run(x)",
    "B$.__bases__ = (Z$,)",
    "C$.__bases__ = (B$, A$)",
    "B$.__bases__ = (A$,)",
    "C$.__bases__ = (A$,)",
)
row(
    "attribute read through super() that a base gets later",
    "class A$:\n    pass\nclass C$(A$):\n    k = 1\n    def run(self, v):\n"
    "        return v * getattr(super(), 'k', 5)\no$ = C$()",
    "o$.run(x)",
    "A$.k = 2",
    "del A$.k",
)
row(
    "property added over an instance attribute",
    C + "\no$.k = 3",
    "x * o$.k",
    "C$.k = property(lambda self: 7)",
    "del C$.k",
)
row(
    "property's function replaced",
    "class C$:\n    n = 2\n    @property\n    def k(self):\n        return self.n\no$ = C$()",
    "x * o$.k",
    "C$.n = 3",
    "C$.k = property(lambda self: 7)",
    "o$.n = 5; C$.k = property(lambda self: self.n)",
    "C$.k = 1",
)
row(
    "code of a property's function",
    "class C$:\n    n = 2\n    @property\n    def k(self):\n        return self.n\no$ = C$()",
    "x * o$.k",
    "C$.k.fget.__code__ = (lambda self: self.n + 5).__code__",
)
row(
    "subclass of property with its own __get__",
    "class P$(property):\n    def __get__(self, obj, owner):\n        return self.fget(owner)\n"
    "class C$:\n    n = 2\n    @P$\n    def k(cls):\n        return cls.n\no$ = C$()\no$.n = 9",
    "(x * o$.k, C$.k)",
    "C$.n = 3",
    "P$.__get__ = lambda self, obj, owner: 8",
)
row(
    "cached_property",
    "import functools\nclass C$:\n    n = 2\n    @functools.cached_property\n    def k(self):\n"
    "        return self.n\no$ = C$()",
    "x * o$.k",
    "o$.n = 4",
    "o$.__dict__.pop('k', None)",
    "o$.k = 7",
)
row(
    "descriptor: state, class, __set__ added",
    "class D$:\n    n = 2\n    def __get__(self, obj, owner=None):\n        return self.n\n"
    "class C$:\n    k = D$()\no$ = C$()\no$.__dict__['k'] = 9\n",
    "x * o$.k",
    "D$.n = 3",
    "D$.__set__ = lambda self, obj, v: None",
    "del D$.__set__",
    "del D$.__get__",
    "del o$.__dict__['k']",
)
row(
    "__get__ added to the class of a class attribute",
    "class D$:\n    def __mul__(self, v):\n        return v * 2\n    __rmul__ = __mul__\n    n = 1\n"
    "class C$:\n    k = D$()\no$ = C$()",
    "x * o$.k.n",
    "D$.__get__ = lambda self, obj, owner=None: E$",
    "import types\nE$ = types.SimpleNamespace(n=5)",
)
row(
    "__getattr__ added, replaced, deleted",
    "class C$:\n    pass\no$ = C$()",
    "(x * getattr(o$, 'k', 1), hasattr(o$, 'k'))",
    "C$.__getattr__ = lambda self, name: 4",
    "C$.__getattr__ = lambda self, name: 5",
    "o$.k = 2",
    "del o$.k",
    "del C$.__getattr__",
)
row(
    "__getattribute__ added",
    C,
    "x * o$.k",
    "C$.__getattribute__ = lambda self, name: 4",
    "del C$.__getattribute__",
)
row(
    "__setattr__ and __delattr__ added",
    "class C$:\n    pass\no$ = C$()\n"
    "def run$(v):\n    o$.n = 2\n    r = v * o$.__dict__.get('n', 5)\n    o$.__dict__.pop('n', None)\n    return r",
    "run$(x)",
    "C$.__setattr__ = lambda self, name, value: None",
    "del C$.__setattr__",
)
row(
    "__slots__",
    "class C$:\n    __slots__ = ('k', 'm')\n    def __init__(self):\n        self.k = 2\no$ = C$()",
    "(x * o$.k, hasattr(o$, 'm'), getattr(o$, 'm', 3))",
    "o$.k = 3",
    "o$.m = 4",
    "o$.m = torch.ones(2)",
    "del o$.m",
    "del o$.k",
)
row(
    "slots that hold a constant, a class and a function",
    "class C$:\n    __slots__ = ('name', 'kind', 'run')\n"
    "def mark$(v):\n    return v + 2\n"
    "o$ = C$()\no$.name, o$.kind, o$.run = 'name of $', int, mark$",
    "(o$.run(x), o$.name, o$.kind is int, o$.kind is float)",
    "o$.name = 'another name of $'",
    "o$.name = 'name of ' + '$'",
    "o$.name = 1.5",
    "o$.kind = float",
    "o$.run = lambda v: v - 2",
    "o$.run = mark$",
    "C$.name = property(lambda self: 'by property')",
    "del o$.kind",
)
row(
    "a slot that is empty at first",
    "class C$:\n    __slots__ = ('k',)\no$ = C$()",
    "x * getattr(o$, 'k', 1)",
    "o$.k = 4",
    "del o$.k",
)
row(
    "special methods added and replaced",
    "class C$:\n    def __len__(self):\n        return 2\n    def __getitem__(self, i):\n        return i\n"
    "    def __add__(self, v):\n        return v + 1\n    def __call__(self, v):\n        return v * 2\n"
    "    def __contains__(self, v):\n        return True\no$ = C$()",
    "(len(o$), o$[3], o$ + x, o$(x), 5 in o$, bool(o$))",
    "C$.__len__ = lambda self: 0",
    "C$.__getitem__ = lambda self, i: i + 1",
    "C$.__add__ = lambda self, v: v + 2",
    "C$.__call__ = lambda self, v: v * 3",
    "C$.__contains__ = lambda self, v: False",
    "C$.__bool__ = lambda self: True",
    "del C$.__contains__",
    "o$.__len__ = lambda: 77",
    "del C$.__call__",
)
row(
    "__bool__ and __len__ added later",
    "class C$:\n    pass\no$ = C$()",
    "x * 2 if o$ else x * 3",
    "C$.__len__ = lambda self: 0",
    "C$.__bool__ = lambda self: True",
    "del C$.__bool__",
)
row(
    "__eq__ and __hash__ added later",
    "class C$:\n    pass\no$ = C$()\np$ = C$()",
    "(o$ == p$, o$ in [p$], {o$: 2}.get(o$), len({o$, p$}), x, o$ != p$)",
    "C$.__eq__ = lambda self, other: True",
    "C$.__hash__ = lambda self: 5",
    "del C$.__eq__",
    "del C$.__hash__",
)
row(
    "reflected and in-place operators added later",
    "class A$:\n    def __add__(self, o):\n        return 1\n    def __radd__(self, o):\n        return 2\n"
    "class B$(A$):\n    pass\na$ = A$()\nb$ = B$()\n"
    "def iadd$(p, q):\n    p += q\n    return p",
    "(a$ + b$, b$ + a$, 1 + a$, iadd$(a$, 1), x)",
    "B$.__radd__ = lambda self, o: 5",
    "A$.__iadd__ = lambda self, o: 8",
    "A$.__radd__ = lambda self, o: 9",
    "del A$.__add__",
)
row(
    "__iter__, __next__ and __enter__",
    "class C$:\n    def __iter__(self):\n        return iter([1, 2])\n    def __enter__(self):\n        return 2\n"
    "    def __exit__(self, *a):\n        return False\no$ = C$()\n"
    "def use$(v):\n    with o$ as e:\n        v = v * e\n    return v",
    "([v for v in o$], use$(x))",
    "C$.__iter__ = lambda self: iter([3])",
    "C$.__enter__ = lambda self: 5",
    "o$.__enter__ = lambda: 6",
    "del C$.__iter__",
)
row(
    "__init__ and __new__ replaced",
    "class C$:\n    def __init__(self, k=2):\n        self.k = k\n",
    "x * C$().k",
    "C$.__init__ = lambda self, k=5: setattr(self, 'k', k)",
    "C$.__new__ = lambda cls, *a: o$",
    "import types\no$ = types.SimpleNamespace(k=8)",
    "del C$.__new__",
    "del C$.__init__; C$.k = 6",
)
row(
    "defaults of __init__",
    "class C$:\n    def __init__(self, k=2):\n        self.k = k\n",
    "x * C$().k",
    "C$.__init__.__defaults__ = (5,)",
)
row(
    "class and static methods",
    "class C$:\n    k = 2\n    @classmethod\n    def a(cls, v):\n        return v * cls.k\n"
    "    @staticmethod\n    def b(v):\n        return v + 1\no$ = C$()",
    "(C$.a(x), o$.a(x), C$.b(x), o$.b(x))",
    "C$.k = 3",
    "C$.a = classmethod(lambda cls, v: v)",
    "C$.b = staticmethod(lambda v: v + 5)",
    "C$.b = lambda *a: 7",
    "C$.a.__func__.__code__ = (lambda cls, v: v - 4).__code__",
)
row(
    "metaclass attributes and methods",
    "class M$(type):\n    k = 2\n    @property\n    def p(cls):\n        return cls.n\n"
    "    def run(cls, v):\n        return v * cls.n\nclass C$(metaclass=M$):\n    n = 3",
    "(x * C$.k, C$.p, C$.run(x))",
    "M$.k = 4",
    "C$.n = 5",
    "M$.p = property(lambda cls: 6)",
    "M$.run = lambda cls, v: v",
    "C$.k = 1",
    "C$.run = lambda v: 8",
)
row(
    "metaclass __call__, __instancecheck__, __getattr__",
    "class M$(type):\n    def __instancecheck__(cls, o):\n        return True\n"
    "    def __getattr__(cls, name):\n        return 3\nclass C$(metaclass=M$):\n    pass\n",
    "(isinstance(1, C$), x * C$.zz)",
    "M$.__instancecheck__ = lambda cls, o: False",
    "M$.__getattr__ = lambda cls, name: 4",
    "C$.zz = 9",
    "del M$.__instancecheck__",
)
row(
    "name, module, doc of a class",
    "class C$:\n    'doc'\no$ = C$()",
    "(type(o$).__name__, C$.__qualname__, C$.__module__, C$.__doc__, x)",
    "C$.__name__ = 'Z'",
    "C$.__qualname__ = 'Y'",
    "C$.__module__ = 'X'",
    "C$.__doc__ = 'W'",
)
row(
    "__mro__, __bases__, __dict__, __subclasses__ of a class",
    "class A$:\n    pass\nclass B$:\n    pass\nclass C$(A$):\n    pass\nclass D$(C$):\n    pass",
    "([c.__name__ for c in D$.__mro__], C$.__bases__ == (A$,), 'k' in C$.__dict__, x)",
    "C$.__bases__ = (B$,)",
    "C$.k = 1",
)
row(
    "register() of an abstract class",
    "import abc\nclass A$(abc.ABC):\n    pass\nclass C$:\n    pass\no$ = C$()",
    "x * 2 if isinstance(o$, A$) else x * 3",
    "A$.register(C$)",
)
row(
    "__instancecheck__ of an ABC, protocols",
    "import typing\n@typing.runtime_checkable\nclass P$(typing.Protocol):\n    def run(self): ...\n"
    "class C$:\n    pass\no$ = C$()",
    "x * 2 if isinstance(o$, P$) else x * 3",
    "C$.run = lambda self: 1",
    "del C$.run",
)
PROTOCOL = (
    "import typing\n@typing.runtime_checkable\nclass P$(typing.Protocol):\n    def run(self): ...\n"
)
row(
    "protocols: what an abstract class remembers",
    PROTOCOL
    + "class C$:\n    pass\no$ = C$()\nimport abc\nclass Z$(abc.ABC):\n    pass\nclass Y$:\n    pass",
    "x * 2 if isinstance(o$, P$) else x * 3",
    "C$.run = lambda self: 1",
    "Z$.register(Y$)",
    "del C$.run",
    "Z$.register(type('Q', (), {}))",
    "C$.run = None",
    "del C$.run",
    "o$.run = 1",
    "del o$.run",
    "P$.register(C$)",
)
row(
    "protocols: a method that is None, __getattr__, a property",
    PROTOCOL + "class C$:\n    run = None\no$ = C$()",
    "x * 2 if isinstance(o$, P$) else x * 3",
    "o$.run = lambda: 1",
    "C$.run = 5",
    "o$ = C$()",
    "C$.__getattr__ = lambda s, n: 3; del C$.run",
    "o$ = C$()",
    "C$.run = property(lambda s: None)",
)
row(
    "protocols: members that are no methods",
    "import typing\n@typing.runtime_checkable\nclass P$(typing.Protocol):\n    n: int\n    def run(self): ...\n"
    "class C$:\n    def run(self): pass\no$ = C$()",
    "x * 2 if isinstance(o$, P$) else x * 3",
    "o$.n = None",
    "del o$.n",
    "C$.n = 4",
    "del C$.n",
    "C$.n = property(lambda s: s.zz)",
    "C$.__getattr__ = lambda s, n: 4; del C$.n",
)
row(
    "abstract classes among bases that are replaced",
    "import abc\nclass A$(abc.ABC):\n    pass\nclass B$:\n    pass\nclass D$(A$):\n    pass\nclass E$(B$):\n    pass\n"
    "o$ = D$()\np$ = E$()",
    "(isinstance(o$, A$), isinstance(p$, A$), issubclass(D$, A$), issubclass(E$, A$), x)",
    "D$.__bases__ = (B$,)",
    "E$.__bases__ = (A$,)",
    "A$.register(B$)",
    "E$.__bases__ = (B$,)",
)
row(
    "__subclasscheck__ of a metaclass under ABCMeta",
    "import abc\nk$ = True\nclass M$(abc.ABCMeta):\n    def __subclasscheck__(cls, c):\n        return k$\n"
    "class A$(metaclass=M$):\n    pass\nclass C$:\n    pass\no$ = 3\np$ = C$()",
    "(isinstance(o$, A$), isinstance(p$, A$), issubclass(C$, A$), x)",
    "k$ = False",
    "A$.register(C$)",
    "k$ = 5",
    "M$.__subclasscheck__ = lambda cls, c: 0",
)
row(
    "__subclasshook__",
    "import abc\nk$ = True\nclass A$(abc.ABC):\n    @classmethod\n    def __subclasshook__(cls, c):\n        return k$\n"
    "class B$(A$):\n    pass\nclass C$:\n    pass\np$ = C$()",
    "(isinstance(p$, A$), issubclass(C$, A$), isinstance(p$, B$), x)",
    "k$ = False",
    "A$.register(C$)",
    "p$ = type('D', (), {})()",
    "k$ = NotImplemented",
    "p$ = type('D', (), {})()",
)
row(
    "collections.abc by methods",
    "import collections.abc as abc$\nclass C$:\n    pass\no$ = C$()",
    "(isinstance(o$, abc$.Sized), isinstance(o$, abc$.Iterable), x)",
    "C$.__len__ = lambda self: 1",
    "C$.__iter__ = lambda self: iter(())",
)
row(
    "subclass of list and its attributes",
    "class L$(list):\n    k = 2\no$ = L$([1, 2])",
    "(x * o$.k, sum(o$), len(o$))",
    "o$.k = 3",
    "o$.append(5)",
    "L$.__len__ = lambda self: 9",
    "L$.__iter__ = lambda self: iter([7])",
)
row(
    "subclass of dict: items, attributes, __missing__",
    "class D$(dict):\n    k = 2\no$ = D$(a=1)",
    "(x * o$.k, o$.get('b', 4), o$['a'], len(o$))",
    "o$['b'] = 2",
    "o$.k = 3",
    "D$.get = lambda self, *a: 8",
    "D$.__getitem__ = lambda self, k: 6",
    "D$.__len__ = lambda self: 11",
)
row(
    "__missing__ of a dict subclass",
    "class D$(dict):\n    def __missing__(self, k):\n        return 5\no$ = D$(a=1)",
    "x * o$['b']",
    "D$.__missing__ = lambda self, k: 6",
    "o$['b'] = 7",
    "del o$['b']",
    "del D$.__missing__",
)
row(
    "subclass of tuple, of str, of int",
    "class T$(tuple):\n    k = 2\nclass S$(str):\n    k = 3\nclass I$(int):\n    k = 4\n"
    "t$ = T$((1, 2))\ns$ = S$('a')\ni$ = I$(5)",
    "(x * t$.k, t$[0], s$.k, s$ + 'b', i$.k, i$ + 1)",
    "T$.k = 5",
    "S$.k = 6",
    "i$ = I$(9)",
    "I$.__add__ = lambda self, v: 77",
    "s$ = S$('zz')",
    "t$ = T$((3,))",
)
row(
    "SimpleNamespace",
    "import types\no$ = types.SimpleNamespace(k=2)",
    "x * o$.k",
    "o$.k = 3",
    "o$.__dict__['k'] = 4",
    "del o$.k",
)
row(
    "enum: attributes and members",
    "import enum\nclass E$(enum.Enum):\n    A = 1\n    B = 2\n    @property\n    def twice(self):\n"
    "        return self.value * 2\nK$ = E$.A",
    "(x * K$.value, K$.twice, K$ == E$.A, K$.name, len(E$))",
    "K$ = E$.B",
    "E$.twice = 9",
    "K$._value_ = 7",
)
row(
    "enum: the table of members and _missing_",
    "import enum\nclass E$(enum.Enum):\n    A = 1\n    B = 2\n    @classmethod\n    def _missing_(cls, v):\n"
    "        return cls.B\n",
    "(E$(1).name, E$['A'].value, [e.name for e in E$], E$(9).value, x)",
    "E$._value2member_map_[1] = E$.B",
    "E$._member_map_['A'] = E$.B",
    "E$._member_names_.reverse()",
    "E$._missing_ = classmethod(lambda cls, v: cls.A)",
    "E$.A._name_ = 'zz'",
)
row(
    "flags: members for combinations",
    "import enum\nclass E$(enum.Flag):\n    A = 1\n    B = 2\nf$ = E$.A\nn$ = 3",
    "((f$ | E$.B).value, bool(f$ & E$.B), E$.A in f$, E$(n$) is E$(3), x)",
    "f$ = E$.B",
    "f$ = E$.A | E$.B",
    "n$ = 1",
    "E$._value2member_map_[3] = E$.A",
    "n$ = 8",
)
row(
    "dataclasses: fields(), asdict(), post-init",
    "import dataclasses\nn$ = 3\n@dataclasses.dataclass\nclass D$:\n    k: int = 2\n"
    "    t: list = dataclasses.field(default_factory=lambda: [n$])\no$ = D$()",
    "([f.name for f in dataclasses.fields(o$)], dataclasses.asdict(o$), dataclasses.is_dataclass(o$), D$().t, x)",
    "n$ = 4",
    "D$.__dataclass_fields__['k'].name = 't'",
    "D$.__dataclass_fields__.pop('k')",
    "o$.t = [1, 2]",
    "D$.__post_init__ = lambda s: s.t.append(9)",
    "del D$.__dataclass_fields__",
)
row(
    "dataclass with slots, frozen",
    "import dataclasses\n@dataclasses.dataclass(slots=True, frozen=True)\nclass D$:\n    k: int = 2\no$ = D$()\n"
    "def put$(o):\n    try:\n        o.k = 5\n    except Exception as e:\n        return type(e).__name__\n    return o.k",
    "(x * o$.k, put$(o$), hash(o$) == hash(D$()), o$ == D$(2))",
    "o$ = D$(3)",
    "object.__setattr__(o$, 'k', 9)",
    "D$.__hash__ = lambda s: 4",
    "D$.__setattr__ = object.__setattr__",
    "D$.__eq__ = object.__eq__",
)
row(
    "dataclass fields",
    "from dataclasses import dataclass, replace\n@dataclass\nclass D$:\n    k: int = 2\n    n: object = None\no$ = D$()",
    "(x * o$.k, o$ == D$(), replace(o$, k=9).k)",
    "o$.k = 3",
    "o$.n = D$()",
    "D$.__eq__ = lambda a, b: 5",
    "D$.__init__.__defaults__ = (4, 4)",
)
row(
    "__eq__ of items in a search",
    "class C$:\n    def __init__(self, v):\n        self.v = v\n    def __eq__(self, o):\n        return self.v == o\n"
    "L$ = [C$(1), C$(2)]",
    "(2 in L$, L$.index(2) if 2 in L$ else -1, L$.count(1), x)",
    "L$[1].v = 3",
    "C$.__eq__ = lambda self, o: False",
    "L$[0].v = 2; del C$.__eq__",
)
row(
    "nested attribute path",
    "class C$:\n    pass\no$ = C$()\no$.a = C$()\no$.a.b = C$()\no$.a.b.k = [1, {'z': 2}]",
    "x * o$.a.b.k[1]['z']",
    "o$.a.b.k[1]['z'] = 3",
    "o$.a.b.k[1] = {'y': 1, 'z': 4}",
    "o$.a.b.k = [0, {'z': 5}]",
    "o$.a.b = C$(); o$.a.b.k = ((), {'z': 6})",
    "o$.a = o$.a.b; o$.a.b = o$.a",
)
row(
    "objects that share a part, or no longer",
    "class C$:\n    pass\na$ = C$()\nb$ = C$()\na$.p = b$.p = [1]",
    "(a$.p is b$.p, a$.p.append(2), len(b$.p), b$.p.clear(), x)",
    "b$.p = [1, 2]",
    "b$.p = a$.p",
)
row(
    "class attribute shared and overridden",
    "class C$:\n    items = [1]\no$ = C$()\np$ = C$()",
    "(o$.items is p$.items, len(o$.items), x)",
    "C$.items.append(2)",
    "o$.items = [7, 8, 9]",
    "C$.items = []",
)
row(
    "a counter that the program itself changes",
    "class C$:\n    n = 0\no$ = C$()\ndef bump$(v):\n    o$.n += 1\n    return v * o$.n",
    "bump$(x)",
    "o$.n = 10",
    "o$.other = 1",
    "C$.n = 5; del o$.n",
)
