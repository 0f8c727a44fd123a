"""Environment variables are read, and each that was read is guarded."""

import os

import torch

GRAPHS = 1
os.environ["FERRODYN_CASE"] = "3"


def fn(x):
    n = int(os.environ["FERRODYN_CASE"]) + int(os.environ.get("FERRODYN_CASE", "0"))
    absent = os.getenv("FERRODYN_CASE_ABSENT"), "FERRODYN_CASE_ABSENT" in os.environ
    try:
        os.environ["FERRODYN_CASE_ABSENT"]
    except KeyError as e:
        absent += (str(e),)
    return x + n, absent


def inputs():
    return (torch.ones(2),)
