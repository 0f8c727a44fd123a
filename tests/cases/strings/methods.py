"""Methods of str."""

import torch

GRAPHS = 1


def fn(x, s):
    return (
        x + len(s),
        s.upper(),
        s.split("."),
        s.replace("a", "b"),
        s.startswith("layer"),
        s.endswith(("0", "1")),
        "-".join(["a", s]),
        s.strip("l"),
        s.find("."),
        s[0],
        s[-3:],
        s * 2,
        s + "!",
        s.partition("."),
        s.isdigit(),
        s.rsplit(".", 1)[-1],
        s.removeprefix("layer"),
        "{} {k}".format(1, k=2),
        "%s-%d" % ("a", 3),
        "x" in s,
        s < "z",
        s.title(),
        s.encode(),
    )


def inputs():
    return torch.ones(2), "layer.a.1"
