"""Arguments: tensors, numbers, strings and other values."""

# ruff: noqa: E501
from .rows import Group

group = Group("Arguments")
row = group.row

T = "torch.arange(6.).reshape(2, 3)"
row(
    "dtype of a tensor",
    "",
    "a$ * 2 + 1",
    arguments=[T, f"{T}.double()", f"{T}.long()", f"{T}.half()", f"{T}.bool()"],
)
row(
    "shape of a tensor",
    "",
    "(a$ * a$.shape[0], a$.size())",
    arguments=[T, f"{T}[:1]", f"{T}.t()", f"{T}.reshape(6)", f"{T}[:0]", "torch.tensor(3.)"],
)
row(
    "stride of a tensor",
    "",
    "(a$.stride(), a$.is_contiguous(), a$ + 1)",
    arguments=[
        "torch.ones(3, 3)",
        "torch.ones(3, 3).t()",
        "torch.ones(3, 6)[:, ::2]",
        "torch.ones(3, 1).expand(3, 3)",
    ],
)
row(
    "memory format of a tensor",
    "",
    "(a$.is_contiguous(memory_format=torch.channels_last), (a$ * 2).stride())",
    arguments=[
        "torch.ones(1, 2, 3, 3)",
        "torch.ones(1, 2, 3, 3).to(memory_format=torch.channels_last)",
    ],
)
row(
    "storage offset of a tensor",
    "",
    "(a$.storage_offset(), a$ * 2)",
    arguments=["torch.arange(4.)[:2]", "torch.arange(4.)[2:]"],
)
row(
    "requires_grad of a tensor",
    "",
    "((a$ * 2).requires_grad, a$.is_leaf)",
    arguments=[
        "torch.ones(3)",
        "torch.ones(3, requires_grad=True)",
        "torch.ones(3, requires_grad=True) * 2",
    ],
)
row(
    "requires_grad_ of the same tensor",
    "A$ = torch.ones(3)",
    "(a$ * 2).requires_grad",
    "A$.requires_grad_()",
    "A$.requires_grad_(False)",
    arguments=["A$"],
)
row(
    "device of a tensor",
    "",
    "(a$.device, a$.is_meta, a$ + 1)",
    arguments=["torch.ones(2)", "torch.ones(2, device='meta')"],
)
row(
    "layout of a tensor",
    "",
    "(a$.layout, a$ * 2)",
    arguments=["torch.eye(2)", "torch.eye(2).to_sparse()"],
)
row(
    "negative and conjugate views",
    "",
    "(a$.is_conj(), a$.is_neg(), torch.view_as_real(a$.resolve_conj()), a$ * 2)",
    arguments=["torch.tensor([1 + 2j])", "torch.tensor([1 + 2j]).conj()"],
)
row(
    "negative view",
    "",
    "(a$.is_neg(), a$ + 1)",
    arguments=["torch.tensor([1 + 2j]).imag", "torch.tensor([1 + 2j]).conj().imag"],
)
row(
    "inference tensor",
    "",
    "(a$.is_inference(), a$ * 2)",
    arguments=["torch.ones(2)", "INFERENCE(lambda: torch.ones(2))"],
)
row(
    "class of a tensor: parameter, subclass",
    "class Sub$(torch.Tensor):\n    extra = 5",
    "(type(a$).__name__, a$ * 2)",
    arguments=[
        "torch.ones(2)",
        "torch.nn.Parameter(torch.ones(2))",
        "torch.ones(2).as_subclass(Sub$)",
        "torch.nn.Buffer(torch.ones(2))",
    ],
)
row(
    "subclass with __torch_function__",
    """class Sub$(torch.Tensor):
    @classmethod
    def __torch_function__(cls, f, types, args=(), kwargs=None):
        return super().__torch_function__(f, types, args, kwargs or {}) if f is not torch.sin else 7
""",
    "(torch.sin(a$) if type(a$) is torch.Tensor else 3, torch.sin(a$))",
    arguments=["torch.ones(2)", "torch.ones(2).as_subclass(Sub$)"],
)
row(
    "attribute of a tensor added, changed and removed",
    "A$ = torch.ones(2)",
    "(a$ * getattr(a$, 'extra', 1), hasattr(a$, 'extra'))",
    "A$.extra = 3",
    "A$.extra = 4",
    "del A$.extra",
    arguments=["A$"],
)
row(
    "attribute of a tensor that is only handed on",
    "A$ = torch.ones(2)\nA$.extra = [1]",
    "(a$ * 2, a$.extra)",
    "A$.extra = [2]",
    "A$.__dict__ = {'extra': (3,)}",
    "del A$.extra",
    arguments=["A$"],
)
row(
    "the mark of a parameter and of a buffer on a tensor",
    "A$ = torch.ones(2)",
    "(isinstance(a$, torch.nn.Parameter), isinstance(a$, torch.nn.Buffer), x)",
    "A$._is_param = True",
    "A$._is_buffer = 1",
    "del A$._is_param",
    "A$._is_buffer = 0",
    arguments=["A$", "torch.nn.Buffer(torch.ones(2))", "torch.ones(2)"],
)
row(
    "dtypes that kernels lack",
    "",
    "(a$ * 2 + 1, torch.cat([a$, a$]))",
    arguments=[
        "torch.ones(2)",
        "torch.ones(2, dtype=torch.uint16)",
        "torch.ones(2, dtype=torch.float8_e4m3fn)",
        "torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8)",
    ],
    # Behind an operation that must not run twice, the error comes from the graph's own line.
    combine=False,
)
row(
    "aliasing of three tensors, one of which is written to",
    "",
    "(a$[0].mul_(2).sum(), a$[1] + 1, a$[2] * a$[0], a$[0] is a$[2])",
    arguments=[
        "[torch.ones(2) for _ in range(3)]",
        "[torch.ones(2)] * 3",
        "[t := torch.ones(2), t, torch.ones(2)]",
        "[t := torch.ones(2), torch.ones(2), t]",
        "[t := torch.ones(2), t.view(2), t[:]]",
        "[(t := torch.ones(4))[::2], t[1::2], torch.ones(2)]",
        "[(t := torch.ones(4))[:2], t[1:3], t[2:]]",
        "[(t := torch.ones(2)).detach(), t, t.data]",
    ],
)
row(
    "an argument that aliases a parameter",
    "m$ = torch.nn.Linear(3, 3, bias=False).requires_grad_(False)\ntorch.nn.init.ones_(m$.weight)",
    "(a$.add_(1).sum(), m$(x), a$ is m$.weight)",
    arguments=[
        "torch.ones(3, 3)",
        "m$.weight",
        "m$.weight.data",
        "m$.weight.detach()[0]",
        "m$.weight.t()",
    ],
    compiled_wrong="the graph was compiled for a parameter that nobody writes to",
)
row(
    ".grad of a tensor",
    "A$ = torch.ones(2, requires_grad=True)",
    "0 if a$.grad is None else a$.grad * 2",
    "A$.grad = torch.full((2,), 3.)",
    "A$.grad = torch.full((2,), 4.)",
    "A$.grad = None",
    arguments=["A$"],
)
row(
    ".data replaced, set_",
    "A$ = torch.ones(2)",
    "(a$ * 2, a$.shape[0], a$.dtype)",
    "A$.data = torch.ones(3)",
    "A$.data = torch.ones(3, dtype=torch.float64)",
    "A$.set_(torch.full((5,), 2.0))",
    "A$.t_() if A$.dim() == 2 else A$.unsqueeze_(0)",
    arguments=["A$"],
)
row(
    "values of a tensor",
    "A$ = torch.ones(2)",
    "(a$ * 2, a$.sum().item())",
    "A$.add_(1)",
    "A$[0] = -3",
    arguments=["A$"],
)
row(
    "hook of a tensor",
    "A$ = torch.ones(2, requires_grad=True)",
    "(a$ * 2).sum()",
    "A$.register_hook(lambda g: g * 3)",
    arguments=["A$"],
)
row(
    "the same tensor twice, or two",
    "A$ = torch.ones(2)\nB$ = torch.ones(2)",
    "(a$[0] is a$[1], a$[0] + a$[1])",
    arguments=["(A$, B$)", "(A$, A$)", "(B$, A$)"],
)
row(
    "aliasing of tensors that are written to",
    "",
    "(a$[0].add_(1).sum(), a$[1] * 2)",
    arguments=[
        "(torch.ones(2), torch.ones(2))",
        "[(t, t) for t in (torch.ones(2),)][0]",
        "[(t[:2], t[1:]) for t in (torch.ones(3),)][0]",
        "[(t[:2], t[2:]) for t in (torch.ones(4),)][0]",
    ],
)
row(
    "an argument that aliases a global tensor",
    "G$ = torch.ones(2)",
    "(a$.add_(1), G$ * 2)",
    arguments=["torch.ones(2)", "G$"],
)
row(
    "integer",
    "",
    "(x * a$, a$ + 1, type(a$).__name__)",
    arguments=["2", "3", "-3", "2 ** 70", "0", "True"],
)
row(
    "kind of number",
    "",
    "(x * a$, a$ / 2, repr(a$), a$ // 1)",
    arguments=["1", "1.0", "True", "1 + 0j" if False else "1.5"],
)
row(
    "special floats",
    "",
    "(x * a$, repr(a$), a$ == a$)",
    arguments=["0.0", "-0.0", "float('nan')", "float('inf')", "-float('nan')", "5e-324"],
)
row(
    "special complex numbers",
    "",
    "(repr(a$), x + a$)",
    arguments=["complex(0.0, 0.0)", "complex(-0.0, 0.0)", "complex(0.0, -0.0)", "complex('nan')"],
)
row(
    "string",
    "",
    "(len(a$), a$.upper(), x * (2 if a$ == 'relu' else 3))",
    arguments=["'relu'", "'gelu'", "''", "'rel\\u00fc'", "'re' + 'lu'", "'\\udc80'"],
)
row("bytes", "", "(len(a$), a$[0:1], a$)", arguments=["b'ab'", "b'ac'", "bytearray(b'ab')"])
row(
    "None or a value",
    "",
    "x if a$ is None else x + a$",
    arguments=["None", "1", "torch.ones(3)", "x$ if False else None"],
)
row("Ellipsis, NotImplemented, a type", "", "(a$ is ..., a$)", arguments=["...", "int", "None"])
row(
    "dtype, device, layout and memory format as arguments",
    "",
    "(x.to(a$), a$)",
    arguments=["torch.float32", "torch.float64", "torch.device('cpu')", "'cpu'"],
)
row("slice", "", "(x[a$], a$.start)", arguments=["slice(0, 2)", "slice(1, 2)", "slice(0, 2, 2)"])
row("range", "", "[x * i for i in a$]", arguments=["range(2)", "range(1, 3)", "range(0, 4, 2)"])
row(
    "iterators",
    "",
    "[x * i for i in a$]",
    arguments=[
        "iter([1, 2])",
        "iter([3])",
        "iter((1, 2))",
        "iter(range(2))",
        "iter({1: 2})",
        "iter({4})",
        "reversed([1, 2])",
        "zip([1], [2]) if False else map(int, '12')",
        "(i for i in (5, 6))",
        "enumerate([]) if False else filter(None, [0, 1])",
    ],
)
row(
    "an iterator that has advanced",
    "L$ = [1, 2, 3]\nI$ = iter(L$)",
    "next(a$, None)",
    "next(I$)",
    "I$ = iter((7, 8))",
    arguments=["I$"],
)
row(
    "where an iterator stands",
    "import itertools",
    "(next(a$), next(a$, None), x * 2)",
    arguments=[
        "itertools.count(3)",
        "itertools.count(4)",
        "itertools.count(3, 2)",
        "reversed([1, 2])",
        "reversed([1, 2, 3])",
        "iter((1, 2, 3))",
        "iter((2, 3))",
        "iter(range(3))",
        "iter(range(1, 3))",
        "iter([1, 2])",
        "iter([2, 2, 3])",
    ],
)
row(
    "numpy array and scalar",
    "import numpy as np",
    "(a$ * 2, torch.as_tensor(a$) + 1)",
    arguments=[
        "np.ones(2)",
        "np.ones(3)",
        "np.ones(2, dtype=np.int64)",
        "np.float32(2)",
        "np.int64(3)",
        "np.float64(2)",
        "np.bool_(True)",
    ],
)
row(
    "type of an argument",
    "",
    "(type(a$).__name__, len(a$))",
    arguments=["[1]", "(1,)", "{1: 2}", "{1}", "frozenset([1])", "'a'", "torch.Size([1])"],
)
row(
    "callable",
    "def f$(v):\n    return v * 2\ndef g$(v):\n    return v * 3",
    "a$(x)",
    arguments=["f$", "g$", "lambda v: v - 1", "torch.sin", "torch.nn.ReLU()", "str"],
)
row(
    "function made anew with another closure",
    "def make$(k, m=1):\n    def f(v, d=m):\n        return v * k + d\n    return f",
    "a$(x)",
    arguments=["make$(2)", "make$(3)", "make$(2, 5)", "make$(torch.ones(3))"],
)
row(
    "partial",
    "import functools\ndef f$(a, b=1, **k):\n    return a * b + len(k)",
    "a$(x)",
    arguments=[
        "functools.partial(f$)",
        "functools.partial(f$, b=2)",
        "functools.partial(f$, b=3)",
        "functools.partial(f$, b=3, z=1)",
    ],
)
row(
    "keyword arguments: names, order, values",
    "def f$(**k):\n    return [(n, v * 2) for n, v in k.items()]",
    "f$(**a$)",
    arguments=["{'a': 1, 'b': 2}", "{'b': 2, 'a': 1}", "{'a': 1}", "{'a': 1, 'c': 2}"],
)
row(
    "instance of another class",
    """class P$:
    k = 2
    def run(self, v):
        return v * self.k
class Q$(P$):
    def run(self, v):
        return super().run(v) + 1
""",
    "a$.run(x)",
    arguments=["P$()", "Q$()"],
)
row(
    "bound method",
    "class P$:\n    def __init__(self, k):\n        self.k = k\n"
    "    def run(self, v):\n        return v * self.k\n    def other(self, v):\n        return v - self.k",
    "a$(x)",
    arguments=["P$(2).run", "P$(3).run", "P$(3).other", "[].append", "[1].count", "'a'.count"],
)
row(
    "lists whose items are one object or two",
    "",
    "(a$[0].append(1), len(a$[1]))[1] + x",
    arguments=["[[], []]", "[[[], []] for _ in [0]][0]", "(lambda v: [v, v])([])"],
)
row(
    "a list that contains itself",
    "",
    "(len(a$), a$[-1] is a$)",
    arguments=["[1]", "(lambda v: (v.append(v), v)[1])([])"],
)
row(
    "class as an argument",
    "class P$:\n    k = 2\nclass Q$:\n    k = 3",
    "x * a$.k",
    arguments=["P$", "Q$", "type('R', (P$,), {'k': 4})"],
)
row(
    "enum member",
    "import enum\nclass E$(enum.Enum):\n    A = 1\n    B = 2\nclass F$(enum.IntEnum):\n    A = 1",
    "(a$.value, a$ is E$.A, a$ == 1, x * a$.value)",
    arguments=["E$.A", "E$.B", "F$.A"],
)
row(
    "dataclass",
    "from dataclasses import dataclass, field\n@dataclass\nclass D$:\n    k: int = 1\n"
    "    t: list = field(default_factory=list)\n@dataclass(frozen=True)\nclass E$:\n    k: int = 2\n    t: tuple = ()",
    "(x * a$.k, len(a$.t), a$ == D$())",
    arguments=["D$()", "D$(2)", "D$(1, [1])", "E$()"],
)
row(
    "namedtuple",
    "from collections import namedtuple\nN$ = namedtuple('N$', 'a b')\nM$ = namedtuple('M$', 'b a')",
    "(x * a$.a, a$[0], a$._fields)",
    arguments=["N$(1, 2)", "N$(2, 1)", "M$(1, 2)"],
)
row(
    "namedtuple: what its fields give",
    "from collections import namedtuple\nN$ = namedtuple('N$', 'a b')\nn$ = N$(2, 3)",
    "[x * n$.a * N$(5, 7).b, n$.b]",
    "N$.a, N$.b = N$.b, N$.a",
    "N$.a = N$.b",
    "N$.b = property(lambda self: 9)",
)
row(
    "object that compares and hashes by user code",
    """class H$:
    def __init__(self, v):
        self.v = v
    def __eq__(self, other):
        return isinstance(other, H$) and self.v == other.v
    def __hash__(self):
        return hash(self.v)
""",
    "(a$ == H$(1), x * len({a$, H$(1)}))",
    arguments=["H$(1)", "H$(2)", "1"],
)
row(
    "weak reference whose referent dies",
    "import weakref\nclass W$:\n    k = 2\nw$ = W$()\nR$ = weakref.ref(w$)",
    "x if R$() is None else x * R$().k",
    "w$.k = 3",
    "del w$",
)
row(
    "object that a proxy stands for",
    "import weakref\nclass W$:\n    k = 2\nw$ = W$()\nR$ = weakref.proxy(w$)",
    "x * R$.k",
    "w$.k = 3",
    "del w$",
)
