"""Output that code of the program gets is put out in its place: it changes what is read next."""

import contextlib
import logging
import warnings

import torch

GRAPHS = 5

logger = logging.getLogger("case_output_to_the_program")
logger.propagate = False
logger.setLevel(logging.INFO)
logger.handlers.clear()
seen = []


class Handler(logging.Handler):
    def emit(self, record):
        seen.append(record.getMessage())


class Stream:
    def write(self, text):
        seen.append(text)


logger.addHandler(Handler())
stream = Stream()


@contextlib.contextmanager
def shown():
    before = warnings.showwarning
    warnings.showwarning = lambda message, *more: seen.append(message)
    try:
        yield
    finally:
        warnings.showwarning = before


def logs(x):
    logger.debug("not enabled")
    x = x + 1
    logger.info("some")
    return x * len(seen)


def prints(x):
    x = x + 2
    print("text", file=stream)
    return x * len(seen)


def warns(x):
    warnings.warn("careful")
    return x * len(seen)


def fn(x, which):
    seen.clear()
    if which == "warns":
        with shown():
            return warns(x), len(seen)
    return (logs if which == "logs" else prints)(x), len(seen)


def calls():
    return [(torch.ones(2), which) for which in ("logs", "prints", "warns")]
