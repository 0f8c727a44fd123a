"""`sub` with a function of the program, which reads a global that changes; `finditer`; matches."""

import re

import torch

GRAPHS = 2
PART = re.compile(r"(?P<word>[a-z]+)(\d*)")
MARK = "-"
SEEN = []


def before(i):
    global MARK
    MARK = "-" * (i + 1)


def marked(match):
    SEEN.append(match["word"])
    return MARK + match[1].upper() if match[2] else None


def fn(x, name):
    whole = PART.sub(marked, name), PART.subn(marked, name, 1), PART.sub(marked, name, count=-1)
    other = (
        re.sub("[a-z]*", lambda m: f"<{m.group()}>", name),
        re.sub("W", lambda m: m.expand(r"[\g<0>]"), name, flags=re.IGNORECASE),
        re.sub(PART, lambda m: str(m.start()), name),
        re.subn(b"a", lambda m: b"bb", b"banana"),
    )
    spans = [m.span() for m in PART.finditer(name)] + [m.start() for m in re.finditer("t", name)]
    rest = re.finditer("[a-z]", name)
    next(rest)
    try:
        PART.sub(lambda m: 1, name)
    except TypeError as e:
        refused = str(e)
    return x * len(spans), whole, other, spans, next(rest)[0], type(rest), refused


def inputs():
    return torch.ones(2), "layer12.weight"
