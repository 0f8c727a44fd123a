"""Numbers and texts that are only printed, logged or turned to text compile nothing anew."""

import io
import logging
import warnings

import torch

GRAPHS = 1
REFERENCE_GRAPHS = None

logged = io.StringIO()
# Not a logger of logging.getLogger(): pytest adds handlers to those, and snapshots pin them.
logger = logging.Logger("case_changing_values", logging.INFO)
logger.addHandler(logging.StreamHandler(logged))


class Settings:
    def __init__(self, rate):
        self.rate = rate


def fn(x, i, name, settings):
    print("step", i, name, settings.rate)
    y = x * 2
    print(f"{name!r}: {i:>4d}|{settings.rate:.3f}", "a" + name, name.upper().ljust(9), sep=" / ")
    logger.info("%s at %d: %.2f", name, i, settings.rate)
    logger.debug("never shown %s", i)
    warnings.warn(f"step {i}", stacklevel=1)
    table = {"step": i, "of": [name, i]}
    print(table, (i,), [settings.rate])
    text = "{:05d}/{}".format(i, name) + ", ".join([str(i), name]) + "%s-%r" % (i, name)
    return y + 1, text, repr(name), str(settings.rate), {"text": text}, i


def calls():
    x = torch.ones(3)
    names = ["first", "", "thîrd", "a 'quote'", "%s {}", "x" * 40]
    numbers = [0, -1, 2**40, 7, 10, 255]
    rates = [0.5, float("nan"), -0.0, 1e300, float("inf"), 2.25]
    return [(x, i, n, Settings(r)) for i, n, r in zip(numbers, names, rates, strict=True)]
