"""`re`, `json` and `os.path` of text that is known while tracing."""

import json
import os.path
import re

import torch

GRAPHS = 1
LAYER = re.compile(r"layer(\d+)\.(?P<part>\w+)")


def fn(x, name="layer12.weight"):
    found = LAYER.match(name)
    parts = found.group(1), found["part"], found.groups(), found.groupdict(), found.span()
    if re.search("bias$", name):
        x = x - 1
    read = json.loads('{"scale": [1, 2.5, null]}')
    text = re.sub(r"\d+", "#", name), LAYER.findall("layer1.a layer2.b"), re.split(r"\.", name)
    path = os.path.join("a", name), os.path.basename("a/b.c"), os.path.splitext("b.c")
    return x * int(parts[0]) * read["scale"][1], parts, text, json.dumps(read), path


def inputs():
    return (torch.ones(2),)
