"""Programs over sizes, made from seeds, and compared with eager below a compiler.

    python tests/python/size_programs.py 17                 print the program of a seed
    python tests/python/size_programs.py --pairs 10240      run that many pairs of program and sizes
    python tests/python/size_programs.py --seeds 10-20 --torch   torch.compile's graphs beside ours

A program takes tensors, an int, a float, a list of ints and an object with ints. It computes with
their sizes: slices, views, arithmetic, branches, loops, checks. It is called with several sizes in
turn, compiled once with `dynamic=None` and once with `dynamic=True`; values, types, strides, what
it changed, gradients and exceptions have to be eager's at each.

A program grows line by line: a line is kept if eager runs it at the first sizes. So most programs
run to their end, and at the other sizes some raise.
"""

# ruff: noqa: E501
from __future__ import annotations

import argparse
import concurrent.futures
import copy
import json
import math
import os
import random
import subprocess
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch._dynamo.backends.common import AotAutograd

#: How many sizes each program is called with.
CALLS = 8
#: The first calls, at which a line has to run to be kept.
PROBES = 3
SIZES = (2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17)

#: Holes: `t` a tensor, `m` one with two dimensions, `i` an int, `c` a condition, `f` a float, `l` a
#: list or tuple of ints, `d` a dimension. Each hole is filled anew.
INTS = """
{t}.shape[{d}] ; {t}.size({d}) ; {m}.shape[0] ; {m}.shape[1] ; {m}.shape[-1] ; len({t}) ; {t}.numel()
{t}.dim() ; {m}.stride(0) ; {t}.shape.numel() ; n ; o.k ; items[0] ; items[-1] ; len(items) ; sum(items)
({i} + {i}) ; ({i} - {i}) ; ({i} * 2) ; ({i} // 2) ; ({i} % 3) ; (-{i}) ; ({i} + 1) ; ({i} - 1)
({i} * {i}) ; ({i} // max({i}, 1)) ; ({i} % max({i}, 1)) ; ({i} // 3 * 3) ; -(-{i} // 2) ; {i} ** 2
max({i}, {i}) ; min({i}, {i}) ; abs({i}) ; max({t}.shape) ; min(*{m}.shape) ; divmod({i}, 3)[0]
({i} if {c} else {i}) ; int({i} / 2) ; int({f}) ; math.ceil({i} / 2) ; math.floor({i} / 3) ; round({i} / 2)
math.prod({t}.shape) ; math.gcd({i}, 6) ; sum({l}) ; int({c}) ; ({i} & 3) ; ({i} | 1) ; ({i} << 1) ; ({i} >> 1)
operator.index({i}) ; sum(s for s in {t}.shape if s > 2) ; len(range(0, {i}, 2)) ; len(range({i}))
torch.sym_max({i}, {i}) ; torch.sym_min({i}, {i}) ; half({i}) ; o.grown({i}) ; {t}.shape.index({m}.shape[0])
{t}.storage_offset() ; ({c}) + {i} ; int(str({i})) ; list(range({i}))[-1] ; (lambda s: s * 2)({i}) ; [*{l}][0]
int(math.sqrt({i})) ; {t}.shape[{d}:].numel() ; {i}.bit_length() ; int({i} * 0.5) ; o.table[0]
"""
CONDITIONS = """
{i} < {i} ; {i} <= {i} ; {i} == {i} ; {i} != {i} ; {i} > 4 ; {i} % 2 == 0 ; {i} >= 3 ; 2 < {i} < 9
{m}.shape == {m}.shape ; {m}.shape[0] == {m}.shape[1] ; {t}.is_contiguous() ; bool({i}) ; not {c}
({c} and {c}) ; ({c} or {c}) ; {i} in (2, 4, 5) ; {i} in items ; {t}.numel() > 20 ; {t}.dim() == 2
{t}.shape[0] in {t}.shape ; isinstance({i}, int) ; {f} > 1.0 ; {f} < {i} ; {t}.size(0) is None ; any(s == 3 for s in {t}.shape)
all(s > 2 for s in {t}.shape) ; tuple({m}.shape) < ({i}, {i}) ; [*{m}.shape] == [4, 4] ; {i} / 2 == {i} // 2
"""
FLOATS = """
f ; {i} / 2 ; {i} * 0.5 ; float({i}) ; {i} ** 0.5 ; {i} / max({i}, 1) ; f * {i} ; f + 1 ; o.scale
math.sqrt({m}.shape[-1]) ; 1 / {m}.shape[-1] ; {m}.shape[-1] ** -0.5 ; abs(f) ; min(f, {i}) ; math.log2(max({i}, 1))
({f} if {c} else {f}) ; {f} / 2 ; -{f} ; max({f}, 0.5) ; round({f}, 1) ; {f} // 1
"""
LISTS = """
[{i}, {i}] ; ({i}, 2) ; {t}.shape ; list({t}.shape) ; items ; {t}.shape[1:] ; {t}.shape[:-1] + ({i},)
[s + 1 for s in {t}.shape] ; tuple(s // 2 for s in {t}.shape) ; [*{t}.shape, {i}] ; [{i}] * 2 ; {l}[::-1]
sorted({t}.shape) ; list(reversed({t}.shape)) ; list(range({i})) ; torch.Size([{i}, 2]) ; (*items, {i})
[i * s for i, s in enumerate({t}.shape)] ; [a + b for a, b in zip({m}.shape, items)] ; o.table
"""
TENSORS = """
{t} + 1 ; {t} * {i} ; {t} * {f} ; {t} / {i} ; {i} - {t} ; {t} ** 2 ; {t} % 3 ; {t}.clone() ; {t} + {f} ; {f} * {t}
{t} + {t} ; {t} * {t} ; {m} + {m} ; {m} @ {m} ; {m} @ {m}.t() ; {m}.t() @ {m} ; {m} - {m}.t()
{t}[{i}:] ; {t}[:{i}] ; {t}[{i}:{i}] ; {t}[::2] ; {t}[-{i}:] ; {t}[{i}] ; {m}[:, {i}:] ; {m}[:, :{i}] ; {m}[:, ::2]
{m}[1:, 1:] ; {m}[:{i}, :{i}] ; {t}[..., {i}:] ; {t}[..., -1] ; {t}[None] ; {m}[:, None] ; {m}[:, -{i}] ; {t}[:-1] ; {m}[{i} // 2, :]
{t}[: {t}.shape[0] // 2] ; {m}[..., : {m}.shape[-1] // 2] ; {t}[{t}.shape[0] // 2 :] ; {t}[-1:] ; {t}[torch.arange(min({i}, {t}.shape[0]))]
{t}.view(-1) ; {t}.reshape(-1) ; {t}.reshape({t}.shape[0], -1) ; {t}.view({t}.shape[0], -1) ; {t}.reshape(-1, 2)
{t}.reshape({l}) ; {t}.view({l}) ; {t}.view(*{m}.shape) ; {t}.reshape({m}.shape) ; {t}.flatten() ; {t}.reshape({i}, -1)
{m}.view({m}.shape[0], {m}.shape[1] // 2, 2) ; {m}.reshape(-1, {m}.shape[0]) ; {m}.unflatten(1, (2, -1)) ; {t}.view(2, -1) ; {m}.reshape({m}.shape[1], {m}.shape[0])
{m}.unflatten(-1, ({m}.shape[-1] // 2, 2)) ; {t}.flatten(0, 1) ; {t}.view(-1, {t}.shape[-1]) ; {t}.view({t}.shape[0] * {t}.shape[1])
{m}.t() ; {m}.t().contiguous() ; {m}.permute(1, 0) ; {t}.transpose(0, -1) ; {t}.movedim(0, -1) ; {m}.T ; {t}.flip(0)
{t}.unsqueeze(0) ; {t}.unsqueeze(-1) ; {t}.squeeze() ; {t}.squeeze(0) ; {t}.squeeze(-1) ; {t}.select({d}, {i}) ; {t}.select(0, -1)
{t}.narrow(0, 0, {i}) ; {t}.narrow({d}, 1, {i}) ; {t}.narrow(-1, {i}, 1) ; {t}.expand(2, *{t}.shape) ; {t}[:1].expand({i}, *{t}.shape[1:])
{t}.expand({l}) ; {m}[:, :1].expand_as({m}) ; {t}.repeat({i}, *[1] * ({t}.dim() - 1)) ; {m}.repeat(1, 2) ; {m}.tile(2) ; {t}.unsqueeze(0).expand({i}, *[-1] * {t}.dim())
{t}.repeat_interleave({i}, 0) ; {t}.repeat_interleave(2, -1) ; {t}.roll({i}, 0) ; {t}.roll(1, -1) ; {m}.rot90() ; {m}.broadcast_to({i}, *{m}.shape)
torch.cat([{t}, {t}]) ; torch.cat([{m}, {m}], {d}) ; torch.cat([{m}, {m}[:{i}]]) ; torch.stack([{t}, {t}]) ; torch.cat([{t}] * {i}, -1)
torch.cat([{m}, {m}.new_zeros({i}, {m}.shape[1])]) ; torch.hstack([{m}, {m}]) ; torch.vstack([{m}, {m}]) ; torch.stack([{t}] * 2, -1)
{t}.split({i})[0] ; {t}.split({i})[-1] ; {m}.split([1, {m}.shape[0] - 1])[1] ; {t}.chunk(2)[0] ; {t}.chunk(2)[-1] ; {m}.chunk({i}, 1)[0]
{t}.tensor_split(2)[1] ; {t}.unbind(0)[-1] ; {m}.unfold(0, 2, 1) ; {m}.unfold(1, 2, {i}) ; torch.as_strided({m}, ({i}, 2), (1, 1)) ; {t}.tensor_split({i})[0]
{t}.sum() ; {t}.sum(0) ; {t}.sum(-1, keepdim=True) ; {t}.mean(0) ; {t}.amax(-1) ; {t}.softmax(-1) ; {t}.cumsum(0) ; {t}.std(0)
{t}.argmax(0) ; {t}.sort(0)[0] ; {m}.topk(min({i}, {m}.shape[1]))[0] ; {t}.topk(1, 0)[0] ; {t}.var(-1) ; {t}.norm() ; {m}.logsumexp(0) ; {m}.diff(dim=0)
torch.zeros({i}, {i}) ; torch.ones({l}) ; torch.full(({i}, 2), {f}) ; torch.full({l}, {i}) ; torch.arange({i}) ; torch.arange({i}) * {f}
torch.arange(0, {i}, 2) ; torch.arange({t}.shape[0]).unsqueeze(-1) + {i} ; torch.linspace(0, 1, {i}) ; torch.eye({i}) ; torch.eye({i}, {i})
torch.ones_like({t}) * {i} ; {t}.new_zeros({i}, 2) ; {t}.new_full(({i},), {f}) ; torch.tensor({i}) ; torch.tensor([{i}, {i}]) ; torch.tensor({f})
torch.tensor({l}) ; torch.ones({i}, {i}).tril() ; {m}.triu({i}) ; {m}.tril(-1) ; {m}.diagonal() ; torch.diag({m}[0]) ; {m}.diagonal({i}) ; {m}.trace() ; torch.zeros({m}.shape[1], {m}.shape[0])
F.pad({m}, (0, {i})) ; F.pad({m}, (1, 0, {i}, 0)) ; F.pad({t}, (0, -1)) ; F.pad({m}, (0, 2 - {m}.shape[1] % 2)) ; F.linear({m}, {m}) ; F.relu({t}) ; F.gelu({t})
F.layer_norm({t}, {t}.shape[-1:]) ; F.layer_norm({m}, [{m}.shape[-1]]) ; F.normalize({m}, dim=0) ; F.one_hot(torch.arange(3), max({i}, 3))
F.embedding(torch.arange({m}.shape[0] // 2), {m}) ; F.avg_pool1d({m}, 2) ; F.max_pool1d({m}, 2, stride=1) ; F.interpolate({m}[None], size={i}) ; F.conv1d({m}[None], torch.ones(1, {m}.shape[0], 2, dtype={m}.dtype))
F.interpolate({m}[None], scale_factor=2) ; F.adaptive_avg_pool1d({m}, {i}) ; F.pixel_shuffle({m}[None].expand(4, -1, -1), 2) ; F.scaled_dot_product_attention({m}[None], {m}[None], {m}[None])
torch.where({t} > {f}, {t}, {i}) ; {t}.masked_fill({t} > 0, {f}) ; {m}.index_select(0, torch.arange(min({i}, {m}.shape[0]))) ; {m}.gather(1, torch.zeros({m}.shape[0], 1, dtype=torch.long))
{t}.index_select(-1, torch.arange({t}.shape[-1] - 1, -1, -1)) ; {t}.clamp(max={i}) ; {t}.clamp(-{f}, {f}) ; {m}.scatter(1, torch.zeros({i}, 1, dtype=torch.long), {f})
torch.einsum('ab,cb->ac', {m}, {m}) ; torch.einsum('ab,ab->a', {m}, {m}) ; torch.outer({m}[0], {m}[:, 0]) ; {m}[None] @ {m}.t()[None] ; torch.bmm({m}[None], {m}.t()[None]) ; torch.addmm({m}, {m}, {m})
torch.baddbmm({m}[None], {m}[None], {m}[None]) ; torch.kron({m}, {m}) ; torch.cdist({m}, {m}) ; torch.meshgrid(torch.arange({i}), torch.arange({i}), indexing='ij')[0] ; torch.cartesian_prod(torch.arange({i}), torch.arange(2))
({t} if {c} else {t}) ; ({t} + 1 if {c} else {t} * 2) ; scaled({t}, {i}) ; windows({m}, {i}) ; heads({m}) ; o({t}) ; causal({m}) ; {m}.matmul({m}[0]) ; {t}.contiguous() ; {t}.double()
torch.tril(torch.ones({m}.shape[0], {m}.shape[0], dtype=torch.bool)) ; {t}.view_as({t}) ; {t}.expand_as({t}) ; {t}.type_as({m}) ; {t}.mean() * {i} ; {t}.sum({d}) / {t}.shape[{d}] ; {t}.swapaxes(0, 1)
"""
STATEMENTS = """
{new} = {T} ; {new} = {T} ; {new} = {T} ; {new} = {T} ; {new} = {T} ; {new} = {I} ; {new} = {I} ; {new} = {F} ; {new} = {L} ; {new} = {C}
if {c}: {new} = {T}|else: {new} = {T} ; if {c}: {oldt} = {T} ; if {c}: {oldi} = {I} ; {oldi} += {i} ; {oldi} = {I} ; {oldt} = {T}
{new} = {t}|for i in range(min(abs({i}), 4)): {new} = {new} * 2 + i ; {new} = []|for s in {t}.shape: {new}.append(s + {i})
{new} = {i}|while {new} > 2: {new} = {new} // 2 ; {new} = {m}.sum(0)|for row in {m}: {new} = {new} + row
torch._check({i} >= 0) ; torch._check({m}.shape[0] > 0) ; torch._check_is_size({t}.shape[0]) ; torch._check({i} < 200) ; torch._check({c})
torch._check({m}.shape[0] <= {m}.shape[1] * 50) ; torch._check({i} != 1000, lambda: 'one thousand') ; assert {i} < 1000 ; assert {c}, 'no'
{new} = {t}.clone()|{new}[:{i}] = {f} ; {new} = {m}.clone()|{new}[:, {i}:] += {i} ; {new} = {t}.clone()|{new}[{i}:].zero_() ; {new} = {m}.clone()|{new}.diagonal().fill_({i})
{new} = {t}.clone()|{new}.mul_({i}) ; {new} = {t}.clone()|{new}[{i}] = {i} ; {new} = {m}.clone()|{new}[-1] = {m}[0] ; {new} = torch.zeros({l})|{new} += {i}
a.add_(1) ; a[:{i}].mul_(2) ; b[1:] = {f} ; b.view(-1)[:{i}] += 1 ; a[0] = {i}
o.k = {i} ; o.k += 1 ; items.append({i}) ; items[0] = {i} ; o.table = {l} ; o.last = {t}.shape[0] ; o.scale = {f}
{new}, {new} = {m}.shape ; {new}, *{new} = {t}.shape ; {new} = [c for c in {t}.split(max({i}, 1))] ; {new} = dict(rows={i}, columns={i}) ; {new} = slice(0, {i})
{new} = f'{{{i}}}' ; {new} = {t}.shape ; {new} = {l} + {l} ; {new} = str({t}.shape) ; {new} = {t}[slice({i}, None, 2)] ; {new} = {{{i}: {t}}} ; {new} = ({i}, {f})
try: {new} = {T}|except Exception: {new} = {T}|; try:|    if {c}: raise ValueError({i})|    {new} = {T}|except ValueError as e: {new} = e.args[0]
{new} = (lambda q: q[:{i}] * {i})({t}) ; {new} = torch.no_grad()|with {new}: {new} = {T} ; match {i}:|    case 2 \\| 3: {new} = {T}|    case s: {new} = {T}
if {c}: return {t}, {i}
"""

HEADER = """\
import math, operator
import torch
import torch.nn.functional as F
def half(s):
    return s // 2 if s % 2 == 0 else (s + 1) // 2
def scaled(t, s):
    if s > 6:
        return t * (s - 6)
    return t / (s + 1)
def windows(t, s):
    if t.shape[0] % s:
        t = F.pad(t, (0, 0, 0, s - t.shape[0] % s))
    return t.view(t.shape[0] // s, s, t.shape[1]).mean(1)
def heads(t):
    rows, width = t.shape
    return t.view(rows, 2, width // 2).transpose(0, 1) * (width // 2) ** -0.5
def causal(t):
    n = t.size(0)
    mask = torch.ones(n, n, dtype=torch.bool).tril()
    return torch.zeros(n, n).masked_fill(~mask, -1.0)
"""


class Holder:
    """The object that programs get, with ints, a float and a method."""

    def __init__(self, k: int, scale: float, table: tuple[int, ...]) -> None:
        self.k = k
        self.scale = scale
        self.table = table
        self.last: Any = None

    def grown(self, s: int) -> int:
        """An int of its own and one that is given."""
        return self.k + s

    def __call__(self, t: torch.Tensor) -> torch.Tensor:
        return t * self.k + t.shape[0]


def _forms(text: str) -> list[str]:
    parts = text.strip().replace("\n", " ; ").split(" ; ")
    return [part.strip() for part in parts if part.strip()]


_KINDS = {
    "i": _forms(INTS),
    "c": _forms(CONDITIONS),
    "f": _forms(FLOATS),
    "l": _forms(LISTS),
    "t": _forms(TENSORS),
    "m": _forms(TENSORS),
    "s": _forms(STATEMENTS),
}


def arguments(seed: int) -> list[dict[str, Any]]:
    """Say what a program's calls get: sizes, numbers and layouts."""
    rng = random.Random(f"sizes {seed}")
    size = lambda: rng.choice((0, 1)) if rng.random() < 0.06 else rng.choice(SIZES)
    shape = rng.choice(
        ["ab ab", "ab ba", "ab bc", "ab ac", "aa aa", "ab ab", "ab cd", "a5 5b", "4a ab"]
    )
    layouts = [rng.choice("cccctsgo") for _ in "ab"]
    several = rng.random() < 0.1
    same = rng.random() < 0.05
    grad = rng.random() < 0.3
    numbers = rng.random() < 0.6
    calls: list[dict[str, Any]] = []
    values = {name: rng.choice(SIZES) for name in "abcd"}
    fixed = dict(
        n=rng.choice(SIZES), k=rng.choice(SIZES), f=rng.choice([0.5, 1.5, 2.0]), items=[2, 3]
    )
    for index in range(CALLS):
        if index:
            values = {name: size() if rng.random() < 0.7 else old for name, old in values.items()}
        shapes = [[values[c] if c in values else int(c) for c in part] for part in shape.split()]
        call: dict[str, Any] = {"shapes": shapes, "grad": grad, "same": same, "seed": index}
        call["layouts"] = [rng.choice("cts") for _ in "ab"] if several and index else layouts
        if numbers and index:
            changed = dict(n=size(), k=size(), f=rng.choice([0.5, 1.5, 2.0, 3.25, 0.0, 1.0]))
            changed["items"] = [size() for _ in range(rng.choice([2, 2, 2, 3]))]
            fixed.update({name: v for name, v in changed.items() if rng.random() < 0.5})
        calls.append({**call, **copy.deepcopy(fixed)})
    return calls


def _tensor(shape: list[int], layout: str, grad: bool) -> torch.Tensor:
    rows, columns = shape
    draw = lambda *size: torch.randint(-8, 9, size).double() / 4
    base = {
        "c": lambda: draw(rows, columns),
        "t": lambda: draw(columns, rows).t(),
        "s": lambda: draw(rows, columns + 1)[:, :-1],
        "g": lambda: draw(rows, columns * 2)[:, ::2],
        "o": lambda: draw(rows + 1, columns)[1:],
    }[layout]()
    # Strides stay; what a leaf is a view of does not.
    return base.detach().requires_grad_() if grad else base


def made(call: dict[str, Any]) -> tuple[Any, ...]:
    """Make the arguments of one call."""
    torch.manual_seed(call["seed"])
    x, y = (
        _tensor(shape, layout, call["grad"])
        for shape, layout in zip(call["shapes"], call["layouts"], strict=True)
    )
    holder = Holder(call["k"], call["f"] + 1, (call["k"], 2))
    return x, x if call["same"] else y, call["n"], call["f"], list(call["items"]), holder


class Generator:
    """Makes one program; the text depends on the seed and on what eager accepts."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(f"program of sizes {seed}")
        self._calls = arguments(seed)[:PROBES]
        self._spaces: list[dict[str, Any]] = []
        for call in self._calls:
            space: dict[str, Any] = {}
            exec(HEADER, space)
            x, y, n, f, items, o = made(call)
            # In programs, `a` and `b` are what may be written to.
            space.update(x=x, y=y, n=n, f=f, items=items, o=o, a=x.clone(), b=y.clone())
            self._spaces.append(space)
        self._names = 0
        self._new: list[str] = []
        self._known: dict[str, list[str]] = {
            "t": ["x", "y", "x", "y"],
            "m": ["x", "y", "x", "y"],
            "i": ["n", "o.k"],
            "f": ["f"],
            "c": [],
            "l": ["items"],
        }
        self.grad = self._calls[0]["grad"]

    def program(self) -> str:
        """Return the text of a module with `fn`."""
        writes = not self.grad and self._random.random() < 0.3
        body = ["a, b = x, y" if writes else "a, b = x.clone(), y.clone()"]
        for _ in range(self._random.randint(3, 9)):
            body += self._statement()
        names = [name for name in dict.fromkeys(self._known["t"]) if name not in "xy"]
        others = [n for kind in "iflc" for n in self._known[kind] if n.startswith("v")]
        self._random.shuffle(others)
        results = [*names[-4:], *others[:3], "a", "b", "x.shape"]
        body.append(f"return {', '.join(dict.fromkeys(results))}")
        text = "\n    ".join(body)
        return f"{HEADER}def fn(x, y, n, f, items, o):\n    {text}\n"

    def _statement(self) -> list[str]:
        for _ in range(40):
            self._new = []
            form = self._random.choice(_KINDS["s"])
            lines = self._filled(form, 2).replace("\\|", "\0").split("|")
            lines = [line.replace("\0", "|") for line in lines if line]
            # A return stands for itself: its condition and values are what has to run.
            tried = "\n".join(line.replace(": return ", ": _ = ") for line in lines)
            if self._runs(tried):
                return lines
        return []

    def _runs(self, text: str) -> bool:
        spaces = []
        for space in self._spaces:
            # Objects are copied once for all names, so that sharing stays.
            modules = {
                k: v
                for k, v in space.items()
                if isinstance(v, types.ModuleType | types.FunctionType | dict)
            }
            data = {k: v for k, v in space.items() if k not in modules}
            data = _copied(data)
            tried = {**modules, **data}
            try:
                exec(compile(text, "<sizes>", "exec"), tried)
                if not all(_is_small(tried.get(name)) for name in [*data, *self._new]):
                    return False
            except Exception:
                return False
            spaces.append(tried)
        self._spaces = spaces
        for name in self._new:
            self._declare(name)
        return True

    def _declare(self, name: str) -> None:
        values = [space.get(name) for space in self._spaces]
        first = values[0]
        if any(type(v) is not type(first) for v in values):
            return
        if isinstance(first, torch.Tensor):
            self._known["t"].append(name)
            if all(v.dim() == 2 and v.dtype == torch.float64 for v in values):
                self._known["m"].append(name)
        elif isinstance(first, bool):
            self._known["c"].append(name)
        elif isinstance(first, int):
            self._known["i"].append(name)
        elif isinstance(first, float):
            self._known["f"].append(name)
        elif isinstance(first, (list, tuple)) and all(isinstance(v, int) for v in first):
            self._known["l"].append(name)

    def _filled(self, form: str, depth: int) -> str:
        """Return a form with its holes filled."""
        found, rest = "", form
        while "{" in rest:
            before, _, rest = rest.partition("{")
            if rest.startswith("{"):
                inner, _, rest = rest[1:].partition("}}}")
                # A hole in a brace of the program.
                part = self._filled(inner + "}", depth)
                found += before + "{" + part + "}"
                continue
            hole, _, rest = rest.partition("}")
            found += before + self._hole(hole, depth)
        return found + rest

    def _hole(self, hole: str, depth: int) -> str:
        if hole == "new":
            # All the branches of a statement write to one name, but for targets side by side.
            if not self._new or self._random.random() < 0.0:
                self._names += 1
                self._new.append(f"v{self._names}")
            return self._new[-1]
        if hole == "d":
            return self._random.choice(("0", "-1", "1"))
        if hole in ("oldt", "oldi"):
            names = [n for n in self._known[hole[-1]] if n.startswith("v")]
            name = self._random.choice(names) if names else {"t": "x", "i": "n"}[hole[-1]]
            return name
        if hole.isupper():
            return self._filled(self._random.choice(_KINDS[hole.lower()]), depth)
        names = self._known[hole]
        if names and (depth <= 0 or self._random.random() < 0.45):
            # What came last is used more often.
            return self._random.choice(names[-4:] if self._random.random() < 0.6 else names)
        if depth <= 0:
            return {"i": "3", "f": "0.5", "c": "True", "l": "[2, 2]"}[hole]
        if hole == "i" and self._random.random() < 0.3:
            return self._random.choice(("1", "2", "3", "4", "0"))
        if hole in "tm" and self._random.random() < 0.5:
            return self._random.choice(names)
        filled = self._filled(self._random.choice(_KINDS[hole]), depth - 1)
        return f"({filled})" if " " in filled and not filled.startswith("(") else filled


def _copied(data: dict[str, Any]) -> dict[str, Any]:
    memo: dict[int, Any] = {}
    for value in data.values():
        if isinstance(value, torch.Tensor):
            memo[id(value)] = value
    # Tensors are shared: what is written to is a copy in every probe, see `a` and `b`.
    try:
        return copy.deepcopy(data, memo)
    except Exception:
        return dict(data)


def _is_small(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return value.numel() < 3000 and value.dim() < 5
    if isinstance(value, (int, float)):
        return abs(value) < 10**6
    if isinstance(value, (list, tuple)):
        return len(value) < 200 and all(_is_small(v) for v in value)
    return True


# Runs


def program(seed: int) -> str:
    """Return the text of a seed's program."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Generator(seed).program()


def _plain(value: Any) -> Any:
    """Return a result in a form that is compared: types, strides, values."""
    if isinstance(value, torch.Tensor):
        value = value.detach()
        strides = [s for s, n in zip(value.stride(), value.shape, strict=True) if n > 1]
        return [
            "tensor",
            str(value.dtype),
            list(value.shape),
            strides if value.numel() else [],
            value.clone(),
        ]
    if isinstance(value, float):
        return ["float", torch.tensor(value, dtype=torch.float64)]
    if isinstance(value, dict):
        return ["dict", [[_plain(k), _plain(v)] for k, v in value.items()]]
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, [_plain(v) for v in value]]
    if isinstance(value, Holder):
        return _plain(vars(value))
    if isinstance(value, slice):
        return ["slice", *map(_plain, (value.start, value.stop, value.step))]
    return [type(value).__name__, repr(value)]


def outcome(fn: Callable[..., Any], call: dict[str, Any]) -> list[Any]:
    """Return what a call gives and changes, or the type of its exception."""
    args = made(call)
    if not call["grad"]:
        # Arguments that are written to keep what is around them in memory.
        args = tuple(a.detach() if isinstance(a, torch.Tensor) else a for a in args)
    torch.manual_seed(7)
    try:
        result = fn(*args)
    except Exception as error:
        return ["error", type(error).__name__, _plain(args)]
    found = _plain([result, args])
    if call["grad"]:
        loss = [
            t.sum()
            for t in torch.utils._pytree.tree_leaves(result)
            if isinstance(t, torch.Tensor) and t.requires_grad and t.dtype.is_floating_point
        ]
        try:
            if loss:
                sum(loss).backward()
        except Exception as error:
            # Some of eager's gradients have a wrong shape where a size is zero.
            return [*found, "error", type(error).__name__]
        found.append([_plain(a.grad) for a in args[:2]])
    return found


def difference(one: Any, other: Any) -> str:
    """Say where two outcomes differ."""
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        try:
            torch.testing.assert_close(other, one, rtol=1e-6, atol=1e-7, equal_nan=True)
        except AssertionError as error:
            return " ".join(str(error).split())[:160]
        return ""
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return next(filter(None, (difference(a, b) for a, b in zip(one, other, strict=True))), "")
    return (
        "" if type(one) is type(other) and one == other else f"{one!r:.200} is not {other!r:.200}"
    )


class _Compiler(AotAutograd):
    """One of torch's, so that the backend is known for a compiler from the first graph on."""

    def __init__(self, backend: Callable[..., Any]) -> None:
        super().__init__()
        self._backend = backend

    def __call__(self, gm: Any, inputs: Any, **kwargs: Any) -> Any:
        return self._backend(gm, inputs, **kwargs)


def run(
    seed: int, dynamic: bool | None, compile: Callable[..., Any], backend: str
) -> dict[str, Any]:
    """Compare a program's calls with eager's; say what differs and how many graphs there were."""
    graphs = 0

    def counted(gm: Any, inputs: Any, **kwargs: Any) -> Any:
        nonlocal graphs
        graphs += 1
        return gm.forward if inner is None else inner(gm, inputs, **kwargs)

    inner, handed = None, counted
    if backend != "eager":
        inner, handed = torch._dynamo.lookup_backend(backend), _Compiler(counted)
    text = program(seed)
    spaces: list[dict[str, Any]] = [{}, {}]
    for space in spaces:
        exec(builtin_compile(text, seed), space)
    compiled = compile(spaces[1]["fn"], backend=handed, dynamic=dynamic)
    faults, raised = [], 0
    for index, call in enumerate(arguments(seed)):
        expected, found = outcome(spaces[0]["fn"], call), outcome(compiled, call)
        raised += expected[0] == "error"
        if said := difference(expected, found):
            faults.append(f"call {index} {call['shapes']}: {said}")
    return {"seed": seed, "dynamic": dynamic, "faults": faults, "graphs": graphs, "raised": raised}


def builtin_compile(text: str, seed: int) -> types.CodeType:
    """Compile a program; its lines are known to tracebacks and to reasons of breaks."""
    import linecache

    file = f"<sizes {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    return compile(text, file, "exec")


def check(
    seeds: range, backend: str, beside: bool = False, dynamics: tuple[Any, ...] = (None, True)
) -> list[dict[str, Any]]:
    """Run programs, with torch.compile beside if asked for."""
    import ferrodyn

    found = []
    for seed in seeds:
        for dynamic in dynamics:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ferrodyn.reset()
                ours = run(seed, dynamic, ferrodyn.compile, backend)
                # A compiler below may be at fault: torch.compile says whether it is.
                if beside or ours["faults"]:
                    torch._dynamo.reset()
                    theirs = run(seed, dynamic, torch.compile, backend)
                    ours["torch graphs"], ours["torch faults"] = theirs["graphs"], theirs["faults"]
                    torch._dynamo.reset()
            found.append(ours)
    return found


def _part(seeds: range, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Run some programs in a process of their own; one that dies says with which."""
    command = [sys.executable, __file__, "--part", "--seeds", f"{seeds.start}-{seeds.stop}"]
    command += ["--backend", options.backend, *(["--torch"] if options.torch else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [json.loads(line[2:]) for line in done.stdout.splitlines() if line.startswith("@@")]
    if done.returncode:
        last = lines[-1]["seed"] if lines else seeds.start - 1
        died = f"exit status {done.returncode}: {done.stderr[-600:]}"
        lines.append(
            {"seed": last + 1, "dynamic": None, "faults": [died], "graphs": 0, "raised": 0}
        )
    return lines


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("seed", nargs="?", type=int, help="print this seed's program")
    parser.add_argument("--seeds", help="first-last, the last one left out")
    parser.add_argument("--pairs", type=int, default=10240, help="pairs of program and sizes")
    parser.add_argument("--backend", default="aot_eager", help="eager: the graph given back")
    parser.add_argument("--torch", action="store_true", help="torch.compile's graphs beside ours")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    parser.add_argument("--part", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.seed is not None:
        print(program(options.seed))
        print("\n".join(f"# {call}" for call in arguments(options.seed)))
        return 0
    first, last = 0, math.ceil(options.pairs / CALLS)
    if options.seeds:
        first, last = map(int, options.seeds.split("-"))
    if options.part:
        for seed in range(first, last):
            for found in check(range(seed, seed + 1), options.backend, options.torch):
                print("@@" + json.dumps(found), flush=True)
        return 0
    parts = [range(at, min(at + 40, last)) for at in range(first, last, 40)]
    results = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for found in pool.map(lambda seeds: _part(seeds, options), parts):
            results += found
            for one in found:
                _say(one)
    return _sum_up(results, options.torch)


def _own_faults(one: dict[str, Any]) -> list[str]:
    """What differs from eager at calls that torch.compile makes as eager does."""
    theirs = {_call(fault) for fault in one.get("torch faults", ())}
    return [fault for fault in one["faults"] if _call(fault) not in theirs]


def _call(fault: str) -> str:
    return fault.partition(":")[0]


def _say(one: dict[str, Any]) -> None:
    about = f"seed {one['seed']} dynamic={one['dynamic']}"
    for fault in one["faults"]:
        also = " (torch.compile differs too)" if fault not in _own_faults(one) else ""
        print(f"{about}: {fault}{also}", flush=True)
    if one["graphs"] > one.get("torch graphs", one["graphs"]) and not one.get("torch faults"):
        print(f"{about}: {one['graphs']} graphs, torch.compile {one['torch graphs']}", flush=True)


def _sum_up(results: list[dict[str, Any]], beside: bool) -> int:
    wrong = [one for one in results if _own_faults(one)]
    programs = len({one["seed"] for one in results})
    print(f"{programs} programs, {programs * CALLS} pairs of program and sizes, each twice")
    print(f"calls that raise in eager: {sum(one['raised'] for one in results) // 2}")
    print(f"graphs: {sum(one['graphs'] for one in results)}")
    print(f"different from eager: {len(wrong)} of {len(results)} runs")
    if beside:
        theirs = [one for one in results if one.get("torch faults")]
        print(
            f"torch.compile: {sum(one['torch graphs'] for one in results)} graphs, "
            f"different from eager in {len(theirs)} runs"
        )
        more = [
            one
            for one in results
            if one["graphs"] > one["torch graphs"] and not one["torch faults"]
        ]
        print(f"more graphs than torch.compile: {len(more)} runs")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
