"""A changed environment variable is a reason to compile anew; others are not."""

import os

import torch

GRAPHS = 3
VALUES = ["1", "1", "2", None]


def before(index):
    os.environ["FERRODYN_CASE_NOISE"] = str(index)
    os.environ.pop("FERRODYN_CASE_LEVEL", None)
    if VALUES[index] is not None:
        os.environ["FERRODYN_CASE_LEVEL"] = VALUES[index]


def fn(x):
    level = int(os.environ.get("FERRODYN_CASE_LEVEL", "10"))
    return x + level, "FERRODYN_CASE_OTHER" in os.environ


def calls():
    return [(torch.ones(2),)] * 4
