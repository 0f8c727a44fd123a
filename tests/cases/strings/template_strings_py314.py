"""Template strings that the compiled function makes, and takes apart."""

from string.templatelib import Interpolation, Template, convert

import torch

GRAPHS = 1


def render(template):
    texts, values = [], []
    for part in template:
        match part:
            case str():
                texts.append(part)
            case Interpolation(value, name, conversion, spec):
                values.append(value)
                texts.append((name, conversion, spec, format(convert(2, conversion), "")))
    return texts, values


def fn(x, name):
    width = 7
    template = t"sum of {x!r:>{width}} and {x + 1}" + t"{name}!"
    texts, values = render(template)
    y = values[0] * values[1].sum()
    kinds = type(template) is Template, isinstance(template.interpolations[1], Interpolation)
    errors = []
    try:
        template + name
    except TypeError as error:
        errors.append(str(error))
    try:
        template.strings = ()
    except AttributeError as error:
        errors.append(str(error))
    small = t"{name}{width!s}"
    return y, texts, kinds, template.strings, small.values, repr(small), errors


def inputs():
    return torch.arange(3.0), "end"
