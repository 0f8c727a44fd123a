"""Dictionaries that never change: from outside, made inside, read in every way, given back."""

import copy

import torch

GRAPHS = 1

SCALES = frozendict({"a": 2.0, "b": 3.0})


def options(a=0.0, b=0.0):
    return a + b


def fn(x, given):
    made = frozendict(SCALES, c=1.5)
    y = x * SCALES["a"] + given["w"] * made.get("c") + given.get("none", 1)
    y = y * options(**SCALES) * len(made)
    for name, value in made.items():
        y = y + value if name in SCALES else y - value
    match given:
        case {"n": n, **rest}:
            y = y * n
    errors = []
    for change in (
        lambda: made.__setitem__("a", 1),
        lambda: made.update(a=1),
        lambda: frozendict(1),
        lambda: made["missing"],
        lambda: made | 1,
        lambda: made.pop("a"),
    ):
        try:
            change()
        except Exception as error:
            errors.append((type(error).__name__, str(error)))
    try:
        made["a"] = 1
    except TypeError as error:
        errors.append(str(error))
    try:
        del made["a"]
    except TypeError as error:
        errors.append(str(error))
    union = made | {"a": 7} | frozendict(d=y)
    other = {"a": 7} | made
    made |= {"e": 1}
    by_key = {SCALES: "scales", frozendict(one=1): "one"}
    facts = (
        by_key[frozendict(b=3.0, a=2.0)],
        SCALES == {"b": 3.0, "a": 2.0},
        SCALES != made,
        isinstance(made, dict),
        type(union) is frozendict,
        type(other) is dict,
        frozendict(SCALES) is SCALES,
        SCALES.copy() is SCALES,
        copy.copy(SCALES) is SCALES,
        copy.deepcopy(SCALES) == SCALES,
        copy.deepcopy(SCALES) is SCALES,
        (SCALES | {}) is SCALES,
        (frozendict() | SCALES) is SCALES,
        type({} | SCALES) is dict,
        list(reversed(made)),
        list(made.keys() & SCALES.keys()),
        repr(made),
        str(frozendict()),
        frozendict.fromkeys("ab", 1),
        bool(frozendict()),
    )
    return y, union, made, other, facts, errors, sorted(rest), made.values()


def inputs():
    return torch.arange(3.0), frozendict(w=torch.ones(3), n=2)
