"""Paths of `pathlib` are texts: what does not ask the file system is followed."""

import os
from pathlib import Path, PurePath, PurePosixPath

import torch

GRAPHS = 2  # the first call keeps texts in the path
REFERENCE_GRAPHS = 1
SNAPSHOT = False

base = Path("/data/sets/train.tar.gz")


class Named(type(Path())):
    __slots__ = ()

    def doubled(self):
        return self.name * 2


def refused():
    try:
        base.with_name("")
    except ValueError as error:
        return str(error)


def fn(x):
    made = Path("runs") / f"{len(x.shape)}" / "log.txt"
    parts = [base.name, base.stem, base.suffix, base.parent, base.parents[1], base.root]
    others = [
        base / "more",
        base.with_suffix(".zip"),
        base.relative_to("/data"),
        PurePath("a", "/b"),
    ]
    texts = [str(made), f"{base}", repr(made), os.fspath(base), os.path.join(base, "x"), made.parts]
    same = [made == Path("runs/2/log.txt"), made is made, base / "a" is base / "a", base < made]
    of_class = Named("w.bin").doubled(), Named("w.bin") / "z", "pre" / PurePosixPath("b")
    return x * len(made.name), made, parts, others, texts, same, of_class, refused()


def inputs():
    return (torch.ones(2),)
