"""`format_map` and `%` take their fields from any mapping: `__missing__`, `__getitem__`."""

from collections import defaultdict

import torch

GRAPHS = 1


class Kept(dict):
    def __missing__(self, key):
        return "{" + key + "}"


class Doubled:
    def __getitem__(self, key):
        return key * 2


def fn(x):
    kept = Kept(a=1, shape=x.shape)
    texts = (
        "{a}/{b}".format_map(kept),
        "{shape[0]:>3}|{a!r:<3}|{shape}".format_map(kept),
        "{ab}".format_map(Doubled()),
        "{n}".format_map(defaultdict(int)),
        "%(a)s/%(b)s" % kept,
        "%(ab)s" % Doubled(),
        "{}".join("ab") % [1],
    )
    errors = []
    for template, mapping in (("{}", kept), ("{0}", kept), ("{b}", {"a": x}), ("{a}", 1)):
        try:
            template.format_map(mapping)
        except (KeyError, TypeError, ValueError) as e:
            errors.append((type(e), str(e)))
    for template in ("{} {0}", "{0} {}"):
        try:
            template.format(x.shape)
        except ValueError as e:
            errors.append(str(e))
    try:
        "%(a)s" % 1
    except TypeError as e:
        errors.append(str(e))
    return x + 1, texts, errors


def inputs():
    return (torch.ones(2),)
