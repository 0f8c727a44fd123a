"""Single expressions inside `try`: a value or an exception, and both are plain Python's.

Inside a handler an exception that the translator makes up would be caught by the program, so every
operator, builtin and method has to raise exactly what Python raises, and nothing on objects whose
methods are C code.
"""

# ruff: noqa: E501
from __future__ import annotations

import array
import collections
import datetime
import decimal
import fractions
import functools
import io
import itertools
import operator
import re
import types
import weakref

import harness
import numpy
import pytest
import torch

if not harness.REFERENCE:
    import ferrodyn
pytestmark = pytest.mark.own


class T1(tuple):
    k = 2


class S1(str):
    k = 3


class I1(int):
    k = 4


class F1(float):
    k = 4


class L1(list):
    pass


class D1(dict):
    pass


def names() -> dict[str, object]:
    """What the expressions are about."""
    d0 = {"a": 1}
    buffer = bytearray(b"ab")
    found = {
        "A": array.array("i", [1, 2]), "B": buffer, "M": memoryview(buffer),
        "t1": T1((1, 2)), "s1": S1("a"), "i1": I1(5), "f1": F1(2.5), "l1": L1([1, 2]), "d1": D1(a=1),
        "D0": d0, "V0": d0.items(), "K0": d0.keys(), "VV": d0.values(),
        "P": types.MappingProxyType(d0),
        "dt": datetime.datetime(2020, 1, 1), "td": datetime.timedelta(1),
        "dec": decimal.Decimal("1.5"), "fr": fractions.Fraction(1, 2),
        "cm": collections.ChainMap({"a": 1}), "ct": collections.Counter("aab"),
        "ud": collections.UserDict(a=1), "ul": collections.UserList([1]),
        "pat": re.compile("a+"), "bio": io.BytesIO(b"abc"), "ws": weakref.WeakSet(),
        "wd": weakref.WeakValueDictionary(), "ns": types.SimpleNamespace(a=1),
        "gp": functools.partial(max, 1), "ag": operator.attrgetter("a"), "ig": operator.itemgetter(0),
        "st": torch.ones(2).untyped_storage(), "dev": torch.device("cpu"), "sz": torch.Size([1, 2]),
        "fi": torch.finfo(torch.float32), "cy": itertools.cycle([1]), "ca": itertools.count(),
        "fz": frozenset([1]), "un": int | str, "ga": list[int], "cpl": 1 + 2j, "rng": range(3),
        "sl": slice(1, 2), "exc": ValueError("a"), "mm": max, "code": names.__code__,
        "N": numpy.arange(3), "prop": property(lambda s: 1), "types": types, "torch": torch,
    }  # fmt: skip
    return found


EXPRESSIONS = """
A[0] ; len(A) ; A[0] * x ; B[0] ; len(B) ; B + b'a' ; B == b'ab' ; M[0] ; len(M) ; 1 in A ; list(A)
[v for v in B] ; 97 in B ; bool(A) ; bool(M) ; A[5] ; B['a'] ; A + A ; A * 2 ; reversed(A) ; A[::-1]
t1[0] ; len(t1) ; t1 + (3,) ; t1 == (1, 2) ; t1 * 2 ; 1 in t1 ; t1[0:1] ; t1[7] ; [*t1] ; hash(t1)
s1 + 'b' ; s1 * 2 ; s1[0] ; len(s1) ; s1 == 'a' ; 'b' + s1 ; 'a' in s1 ; s1.upper() ; s1 % () ; f'{s1}'
s1 < 'b' ; hash(s1) ; s1[3] ; s1.join(['1', '2']) ; s1.nope ; s1.k
i1 + 1 ; 1 + i1 ; -i1 ; i1 * 2.0 ; i1 == 5 ; i1 < 6 ; x * i1 ; x[i1 - 5] ; range(i1) ; [1, 2, 3, 4, 5, 6][i1]
int(i1) ; float(i1) ; i1 // 2 ; divmod(i1, 2) ; abs(i1) ; ~i1 ; i1 & 1 ; hash(i1) ; bool(i1) ; i1 / 0 ; i1 + 'a'
f1 + 1 ; f1 * x ; round(f1) ; int(f1) ; f1 < 3 ; f1 // 0
l1[0] ; l1 + [3] ; [0] + l1 ; l1 == [1, 2] ; l1 * 2 ; 1 in l1 ; l1[9] ; l1.index(7)
d1['a'] ; d1 == {'a': 1} ; {**d1} ; 'a' in d1 ; len(d1) ; d1['z'] ; d1 | {'b': 2}
[v for v in V0] ; len(V0) ; ('a', 1) in V0 ; V0 == D0.items() ; [v for v in K0] ; 'a' in K0 ; K0 | {'z'}
list(VV) ; len(VV) ; K0 & {'a'} ; sorted(V0) ; K0[0] ; VV + [1]
P['a'] ; len(P) ; 'a' in P ; [k for k in P] ; dict(P) ; P == {'a': 1} ; P.get('a') ; {**P} ; P | {'b': 1} ; P['z']
dt.year ; dt + td ; dt < dt ; td * 2 ; str(dt) ; td == td ; dec + 1 ; dec * 2 ; x * float(dec) ; fr + 1 ; fr * 2
float(fr) ; int(fr) ; fr == 0.5 ; dt + 1 ; dec / 0 ; fr / 0
N[0] ; N + 1 ; len(N) ; N.sum() ; [v for v in N] ; N == 1 ; 1 in N ; x * N[1] ; N @ N ; -N ; bool(N[0]) ; N[9]
cm['a'] ; len(cm) ; ct['a'] ; ct['z'] ; ct + ct ; ud['a'] ; len(ud) ; 'a' in ud ; ul[0] ; ul + [1] ; len(ul)
[v for v in ul] ; cm['z'] ; ud['z'] ; ul[3]
pat.match('aa') is None ; pat.pattern ; len(ws) ; len(wd) ; ns.a ; ns == types.SimpleNamespace(a=1) ; gp(2)
ag(ns) ; ig([5]) ; ns.b ; ag(1) ; ig([])
len(st) ; dev.type ; dev == 'cpu' ; sz[0] ; sz + (1,) ; sz == (1, 2) ; sz.numel() ; fi.eps ; sz[5]
next(cy) ; 1 in fz ; fz | {2} ; un == un ; ga == list[int] ; isinstance(1, un) ; fz - {1} ; fz < {1, 2}
cpl * 2 ; cpl.real ; abs(cpl) ; rng[0] ; len(rng) ; 1 in rng ; rng == range(3) ; rng[1:] ; sl.start
sl == slice(1, 2) ; exc.args ; str(exc) ; mm(1, 2) ; mm == max ; code.co_name ; cpl < 1 ; rng[9] ; cpl // 1
x * dec ; x + None ; x * 'a' ; x[{}] ; len(5) ; None + 1 ; 'a' + 1 ; [1] + (2,) ; (1,) + [2] ; {1} + {2} ; {} + {}
-'a' ; ~1.5 ; 'a' < 1 ; None < None ; [] < () ; 1 in 5 ; iter(5) ; object() + 1 ; object() < object()
object()[0] ; len(object()) ; int([]) ; float('a') ; int('z') ; range(1.5) ; x[1.5] ; x['a'] ; {[]: 1} ; hash([])
sum(['a']) ; max([]) ; min(1) ; abs('a') ; round('a') ; ord('ab') ; chr(-1) ; bool() ; str(1, 2, 3) ; list(5)
dict(5) ; set(5) ; tuple(5) ; sorted(5) ; zip(5) ; map(5) ; enumerate(5) ; reversed(5) ; isinstance(1, 2)
issubclass(1, int) ; setattr(1, 'a', 2) ; pow('a', 2) ; divmod(1, 0) ; 1 / 0 ; 1 % 0 ; 1.0 // 0 ; 0 ** -1
'%d' % 'a' ; '{:d}'.format('a') ; f'{"a":d}' ; (1).foo ; 'a'.foo ; [].foo ; x.foo ; torch.foo ; next(5)
next(iter([])) ; any(5) ; all(5) ; callable() ; 'a'.join([1]) ; 'a'.join(5) ; [].index(1) ; [].pop()
{}.popitem() ; set().pop() ; (1, 2).index(3) ; 'a'.index('b') ; [1, 2].remove(3) ; {}['a'] ; [][0] ; ()[0] ; ''[0]
b''[0] ; range(0)[0] ; x[5] ; bytes(-1) ; [1] * 'a' ; 'a' * 1.5 ; 2 ** 'a' ; 1 << -1 ; (lambda: 0)(1)
(lambda a: 0)() ; max(1, 'a') ; sorted([1, 'a']) ; [1, 'a'] < ['a', 1] ; [] in {} ; {} in {} ; {1: 2}[[]]
"""
ALL = [part.strip() for part in EXPRESSIONS.replace("\n", " ; ").split(" ; ") if part.strip()]


def outcome(value: object) -> object:
    """A result in a form that can be compared."""
    if isinstance(value, tuple) and len(value) == 2 and value[0] == "value":
        text = repr(value[1])
        return "value", type(value[1]).__name__, "" if " at 0x" in text else text
    return value


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", ALL)
def test_expression(expression):
    text = (
        "def fn(x):\n    x = x + 0\n    try:\n"
        f"        return 'value', {expression}\n"
        "    except Exception as error:\n        return type(error).__name__, str(error)\n"
    )
    plain, other = names(), names()
    for namespace in (plain, other):
        exec(compile(text, "<expression>", "exec"), namespace)
    want = outcome(plain["fn"](torch.ones(3)))
    harness.reset()
    compiled = ferrodyn.compile(other["fn"], backend="eager")
    got = outcome(compiled(torch.ones(3)))
    if isinstance(want[1], str) and " at 0x" in want[1]:
        want, got = want[0], got[0]
    assert got == want
